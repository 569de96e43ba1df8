// Runs the extension for pi as pi does: `node extension_host.mjs EXTENSION EVENTS.json`.
// It prints what each event returned, and the messages that were sent meanwhile, as a JSON list.
import { readFileSync } from "node:fs"

const [extension, events] = process.argv.slice(2)
const { default: load } = await import(extension)
const handlers = new Map()
let sent = []
load({ on: (name, handler) => handlers.set(name, handler), sendMessage: (message) => sent.push(message) })
const entries = JSON.parse(process.env.PI_ENTRIES ?? "[]") // what the session had before
const sessionManager = { getSessionId: () => "01a2-pi", getEntries: () => entries }
const ctx = { cwd: process.cwd(), hasUI: false, sessionManager }
const done = []
for (const event of JSON.parse(readFileSync(events, "utf8"))) {
  sent = []
  const returned = await handlers.get(event.type)?.(event, ctx)
  done.push({ returned: returned ?? null, sent })
}
console.log(JSON.stringify(done))
