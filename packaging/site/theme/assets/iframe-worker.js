// Two things that the search of this site needs. A page that is opened as a file may start no worker: there the search runs in a frame that
// nobody sees. And a word that begins with dashes is an option's name, not a word that pages must not have.
class FrameWorker extends EventTarget {
    constructor(url) {
        super();
        const frame = document.createElement("iframe");
        frame.hidden = true;
        document.documentElement.append(frame);
        this.inside = frame.contentWindow;
        this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = this.inside.document.createElement("script");
        this.loaded = new Promise((done) => script.addEventListener("load", done));
        script.src = url;
        this.inside.document.head.append(script);
    }
    postMessage(data) {
        this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
}
window.Worker = class extends (location.protocol === "file:" ? FrameWorker : Worker) {
    postMessage(message) {
        const isQuery = typeof message.data === "string";
        super.postMessage(isQuery ? { ...message, data: message.data.replace(/(^|\s)-+/g, "$1") } : message);
    }
};
