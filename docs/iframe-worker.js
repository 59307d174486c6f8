/* Search from disk. A page that is opened as a file may start no worker, so there an invisible frame runs
   the script of the worker instead. Material looks for "iframe-worker" in the name of this file. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...scripts) => Promise.all(scripts.map(script => this.run(script)))
      this.ready = this.run(url)
    }

    run(url) {
      const script = this.frame.contentDocument.createElement("script")
      script.src = url
      const done = new Promise(resolve => { script.onload = resolve })
      this.frame.contentDocument.body.append(script)
      return done
    }

    postMessage(data) {
      const inside = this.frame.contentWindow
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
