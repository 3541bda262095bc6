# SPDX-License-Identifier: Apache-2.0
# curve.awk -- an S-curve over the histogram that `pairs --histogram-svg` drew: awk -v bands=B -v rows=R -f curve.awk BARS.svg
#
# The plot of such a picture reaches from x = 88 (similarity 0) to 696 (1), and from y = 332 up to 58; the curve's 0 to 1 is that height.
/^<\/svg>/ {
    printf "<polyline fill=\"none\" stroke=\"#c1531b\" stroke-width=\"2\" points=\""
    for (hundredths = 0; hundredths <= 100; hundredths++) {
        s = hundredths / 100
        printf "%s%.2f,%.2f", hundredths ? " " : "", 88 + 608 * s, 332 - 274 * (1 - (1 - s ^ rows) ^ bands)
    }
    printf "\"/>\n<text class=\"num\" x=\"692\" y=\"76\" fill=\"#a8430f\">the curve: 1 - (1 - s^%d)^%d, from 0 to 1</text>\n", rows, bands
}
{ print }
