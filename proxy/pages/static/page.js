// Not every browser sends `ping`; a beacon does the same. Taking the attribute away keeps it to one message.
const tellChoices = (part) => {
  for (const link of part.querySelectorAll("a[ping]")) {
    const address = link.ping;
    link.removeAttribute("ping");
    const tell = () => navigator.sendBeacon(address);
    link.addEventListener("click", tell);
    link.addEventListener("auxclick", (event) => event.button === 1 && tell());
  }
};
tellChoices(document);
// A reload is the reader's own request; a click from inside the sandbox would leave strict cookies behind.
document.querySelector("#again[href='']")?.addEventListener("click", (event) => {
  event.preventDefault();
  location.reload();
});
// Back to the form: the browser still has what was typed.
const back = document.getElementById("back");
if (back) {
  back.hidden = false;
  back.addEventListener("click", (event) => {
    event.preventDefault();
    history.back();
  });
}
// A site that is down for a moment says when to come back: count down, and try again then, in the window that is looked at.
const retry = document.getElementById("retry");
if (retry) {
  const left = retry.querySelector("[data-left]");
  const due = Date.now() + 1000 * retry.dataset.seconds;
  retry.hidden = false;
  const tick = setInterval(() => {
    left.textContent = Math.max(0, Math.ceil((due - Date.now()) / 1000));
    if (Date.now() < due || document.hidden) return;
    clearInterval(tick);
    document.getElementById("again").click();
  }, 1000);
}
// The further pages open above the switch: take the reader to the first of them.
const more = document.getElementById("more");
more?.addEventListener("toggle", () => more.open && document.querySelector("#alternatives > .later a")?.focus());
// Other schools and web archives answer when they can: ask for what is new, and put it in the place of what was there,
// until all is known.
const follow = async (id, tries) => {
  const before = document.getElementById(id);
  if (!before?.dataset.next || tries < 1) return;
  const answer = await fetch(before.dataset.next, { credentials: "omit" }).catch(() => null);
  const text = answer?.ok ? await answer.text() : "";
  const after = new DOMParser().parseFromString(text, "text/html").getElementById(id);
  if (!after) return;
  // Nothing is taken from under the hands of a reader who is in there.
  while (before.contains(document.activeElement)) await new Promise((done) => setTimeout(done, 500));
  for (const opened of before.querySelectorAll("details[open]")) after.querySelector("#" + opened.id)?.setAttribute("open", "");
  tellChoices(after);
  before.replaceWith(after);
  follow(id, tries - 1);
};
follow("late", 1);
follow("archives", 60);
// Whether this browser trusts the certificate is seen by loading something over https.
const trust = document.getElementById("trust");
if (trust) {
  const tell = (answer) => trust.querySelectorAll("[data-when]").forEach((part) => (part.hidden = part.dataset.when !== answer));
  const picture = new Image();
  picture.onload = () => {
    tell("yes");
    document.getElementById("device").open = false;
  };
  picture.onerror = () => tell("no");
  tell("asking");
  picture.src = trust.dataset.picture;
}
// Who was sent round by the portal (proxy/privacy/portalredirect.py) has our mark in the address: out of sight, and of what is shared.
const bare = location.href.replace(/[?&]linkmend-way=[\w.-]+(?=#|$)/, "");
if (bare !== location.href) history.replaceState(null, "", bare);
