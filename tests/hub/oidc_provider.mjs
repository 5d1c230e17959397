// A real OpenID provider on loopback: node oidc_provider.mjs FOLDER REDIRECT SECRET
// FOLDER holds node_modules with oidc-provider; its address is printed once it listens.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [folder, redirect, secret] = process.argv.slice(2);
const place = pathToFileURL(`${folder}/node_modules/oidc-provider/lib/index.js`);
const { Provider } = await import(place);

const server = createServer((request, response) => answer(request, response));
let answer = (request, response) => response.end();

server.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(address, {
    clients: [{ client_id: "the hub", client_secret: secret, redirect_uris: [redirect] }],
    claims: { openid: ["sub"], email: ["email"], profile: ["name", "preferred_username"] },
    findAccount: (context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@uni.example`, name: `Dr ${id}` }),
    }),
    cookies: { keys: ["only for tests"] },
  });
  answer = provider.callback();
  process.stdout.write(`${address}\n`);
});
