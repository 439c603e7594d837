// Not every browser sends `ping`; a beacon does the same. Taking the attribute away keeps it to one message.
for (const link of document.querySelectorAll("a[ping]")) {
  const address = link.ping;
  link.removeAttribute("ping");
  const tell = () => navigator.sendBeacon(address);
  link.addEventListener("click", tell);
  link.addEventListener("auxclick", (event) => event.button === 1 && tell());
}
// A reload is the reader's own request; a click from inside the sandbox would leave strict cookies behind.
document.getElementById("again")?.addEventListener("click", (event) => {
  event.preventDefault();
  location.reload();
});
// The further pages open above the switch: take the reader to the first of them.
const more = document.getElementById("more");
more?.addEventListener("toggle", () => more.open && document.querySelector("#alternatives > .later a")?.focus());
