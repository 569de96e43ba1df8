// Runs the module of the plugin for Claude Code: `node module_host.mjs MODULE STEPS.json`.
// It prints, as a JSON list, what each step passed on, what it returned, and which toasts it showed.
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { dirname } from "node:path"

const [module, stepsFile] = process.argv.slice(2)
const { hookEnv, steps } = JSON.parse(readFileSync(stepsFile, "utf8"))
const hooks = new Map()
let toasts = []
let processes = []

const run = ([program, ...words], { stdin = "", env = {}, cwd } = {}) =>
  new Promise((resolve, reject) => {
    processes.push([program, ...words])
    const child = spawn(program, words, { cwd, env: { ...process.env, ...env } })
    let stdout = ""
    child.on("error", reject)
    child.stdout.on("data", (data) => (stdout += data))
    child.on("close", (code) => resolve({ exitCode: code ?? 1, stdout, stderr: "" }))
    child.stdin.on("error", () => {})
    child.stdin.end(stdin)
  })

const fetch = (url, { socketPath, method, headers, body }) =>
  new Promise((resolve, reject) => {
    const sent = request(url, { socketPath, method, headers }, (response) => {
      let text = ""
      response.on("data", (data) => (text += data))
      response.on("end", () => {
        const { statusCode: status } = response
        resolve({ status, ok: status >= 200 && status < 300, headers: response.headers, text })
      })
    })
    sent.on("error", reject)
    sent.end(body)
  })

const write = async (path, text) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const $ = {
  clock: { sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()) },
  fs: { write },
  http: { fetch },
  process: { hookEnv: async () => hookEnv, run },
  session: { info: async () => ({ promptId: "p1" }) },
  turn: { abort: async () => {} },
  ui: { toast: (text) => toasts.push(text) },
}

const { register } = await import(module)
register((event, ...rest) => hooks.set(event, rest.at(-1)))

// The steps in `during` happen while the hooks beneath run.
const take = async ({ event, e, beneath = {}, during = [] }) => {
  const passed = []
  const inner = []
  const next = async (value) => {
    passed.push(value)
    for (const step of during) inner.push(await take(step))
    return beneath
  }
  const hook = hooks.get(event)
  const result = hook ? await hook($, e, next) : undefined
  return { passed, result, during: inner }
}

const done = []
for (const step of steps) {
  toasts = []
  processes = []
  done.push({ ...(await take(step)), toasts, processes })
}
console.log(JSON.stringify(done))
process.exit(0)
