// The six functions of the page, and what was called before they were there.

const functions = { track, page, identify, alias, group, optOut };
const called = window.touchpoint?.q ?? [];

function call([name, ...given]) {
  window.touchpoint[name]?.(...given);
}

function start() {
  on(document, "visibilitychange", () => document.visibilityState === "hidden" && leave());
  on(window, "pagehide", leave);
  on(window, "online", flush);
  watchHistory();
  if (isOn("autoIdentify", false)) watchForms();
  const isChoice = ([name]) => name === "optOut"; // before anything is counted
  called.filter(isChoice).forEach(call);
  page();
  called.filter((one) => !isChoice(one)).forEach(call);
  called.push = call;
  if (!isRefused()) safe(loadScripts)();
}

if (workspace && !window.touchpoint?.isReady) {
  window.touchpoint = Object.assign(window.touchpoint ?? {}, { isReady: true, q: called });
  for (const [name, work] of Object.entries(functions)) window.touchpoint[name] = safe(work);
  if (document.prerendering) on(document, "prerenderingchange", start, { once: true });
  else safe(start)();
}
