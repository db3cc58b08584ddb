// Search in pages that were opened as files: there a browser starts no worker and fetches nothing, but it runs scripts.
// The index is loaded as a script, and a worker's script runs in a hidden frame that passes messages on.
if (location.protocol === "file:") {
  const settings = document.currentScript.src.replace(/theme\/[^/]*$/, "");
  document.write(`<script src="${settings}search/search_index.js"></script>`);

  window.Worker = class FrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      const start = () => {
        document.body.append(this.frame);
        const inside = this.frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = (...names) =>
          names.reduce((before, name) => before.then(() => this.load(name)), Promise.resolve());
        this.load(address).then(() => {
          this.ready = true;
          this.waiting.forEach((data) => this.postMessage(data));
        });
      };
      if (document.body) start();
      else addEventListener("DOMContentLoaded", start);
    }

    load(address) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.onload = done;
        script.onerror = failed;
        script.src = new URL(address, document.baseURI).href;
        this.frame.contentDocument.head.append(script);
      });
    }

    postMessage(data) {
      if (this.ready) this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
