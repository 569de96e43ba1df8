// Runs the plugin for opencode as opencode does: `node plugin_host.mjs PLUGIN STEPS.json`.
// It prints what each step changed, as a JSON list.
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { Readable } from "node:stream"

globalThis.Bun = {
  spawn: ([program, ...words], { stdin }) => {
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] })
    stdin.text().then((text) => child.stdin.end(text))
    return { stdout: Readable.toWeb(child.stdout), kill: () => child.kill() }
  },
}
const [plugin, steps] = process.argv.slice(2)
const { Lessons } = await import(plugin)
const client = { tui: { showToast: async () => {} }, app: { log: async () => {} } }
const hooks = await Lessons({ client, directory: process.cwd() })
const done = []
for (const { hook, input, output } of JSON.parse(readFileSync(steps, "utf8"))) {
  let refused = ""
  try {
    await (hook === "event" ? hooks.event({ event: input }) : hooks[hook](input, output))
  } catch (error) {
    refused = error.message
  }
  done.push({ ...output, refused })
}
console.log(JSON.stringify(done))
