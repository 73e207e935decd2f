import { render } from "preact";
import { App } from "./app.tsx";
import { follow } from "./client.ts";

const root = document.getElementById("page");
if (root !== null) {
  root.replaceChildren();
  follow();
  render(<App />, root);
}
