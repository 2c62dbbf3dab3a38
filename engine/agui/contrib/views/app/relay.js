
// @ts-check
/** Between the page and the app in the inner frame: it passes messages on, and reads none. */
addEventListener("message", ({ source, data }) => {
  const app = document.querySelector("iframe")?.contentWindow;
  if (source === parent) app?.postMessage(data, "*");
  else if (source && source === app) parent.postMessage(data, "*");
});
