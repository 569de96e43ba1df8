// The module of the Lessons plugin. Claude Code loads it into a worker of its own process.
//
// It sends each event to the daemon over one socket, so that no process starts for an event. The
// hooks in hooks.json answer each event for which this module leaves no mark, for example because
// its worker ended. Claude Code loads the module only if `$` is passed to functions of this level.
import type { EngineInterface, Register } from "claude-code"

const PROGRAM = "lessons-hook"
const AGENT = "claude-code"
const DEADLINE_MS = 2000
const PROGRAM_MS = 10000
const START_MS = 60000
const TOAST_MS = 8000
const GUARDED = ["Bash", "PowerShell", "Edit", "Write", "NotebookEdit", "Agent", "Task"]
const LEARNED = ["Bash", "PowerShell", "Read", "Edit", "Write", "NotebookEdit", "Grep", "Glob"]
const FROM_THE_USER = ["composer", "bridge", "sdk", "scheduled-trigger", "slack-ping", "unclassified"]

type Connection = { socket: string; environment: Record<string, string> }
type Answer = {
  hookSpecificOutput?: {
    additionalContext?: string
    permissionDecision?: "ask" | "deny"
    permissionDecisionReason?: string
  }
  systemMessage?: string
  continue?: boolean
  stopReason?: string
}

let connection: Connection | undefined
let hasTried = false // a worker that replaces a lost one connects at its first event
let hookEnvironment: Record<string, string> = {}
let common: Record<string, unknown> = {} // the fields that every event of the session has
let turn = ""
const questions = new Map<string, string>() // the reason of a question, by the id of its call

async function connect($: EngineInterface): Promise<Connection | undefined> {
  hookEnvironment = await $.process.hookEnv()
  // The answer is empty if LESSONS_MODULE or LESSONS_DAEMON is 0.
  const ran = await $.process.run([PROGRAM, AGENT, "module"], { env: hookEnvironment })
  if (ran.exitCode !== 0 || !ran.stdout) return undefined
  const [socket, ...variables] = ran.stdout.split("\0")
  const pairs = variables.map((text) => [text.split("=", 1)[0], text.slice(text.indexOf("=") + 1)])
  return { socket, environment: Object.fromEntries(pairs) }
}

async function reconnect($: EngineInterface) {
  hasTried = true
  connection = await connect($).catch(() => undefined) // lessons-hook is not on the PATH
}

// Leaves a mark if the module has answered. The hook of the event empties the file and stays silent.
async function mark($: EngineInterface) {
  if (!connection) return
  const { CLAUDE_PLUGIN_DATA, CLAUDE_CODE_SESSION_ID, CLAUDE_PID } = hookEnvironment
  const name = `module-${CLAUDE_CODE_SESSION_ID}-${CLAUDE_PID}`
  await $.fs.write(`${CLAUDE_PLUGIN_DATA}/${name}`, "answered").catch(() => {})
}

async function askDaemon($: EngineInterface, event: string, cwd: string) {
  const { socket, environment } = connection!
  if (!socket) return undefined
  const request = $.http.fetch("http://lessons/", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent: AGENT, cwd, event, environment }),
    socketPath: socket,
  })
  const late = $.clock.sleep(DEADLINE_MS).then(() => undefined)
  const response = await Promise.race([request, late])
  return response?.ok ? response.text : undefined
}

// Without a daemon, the hook program answers. It also starts the daemon.
async function askProgram($: EngineInterface, event: string, cwd: string, timeoutMs: number) {
  const env = { ...hookEnvironment, LESSONS_HOOK_AGAIN: "1" }
  const ran = await $.process.run([PROGRAM, AGENT], { stdin: event, cwd, env, timeoutMs })
  connection = (await connect($)) ?? connection // the first hook makes the folder of the socket
  return ran.stdout
}

async function ask($: EngineInterface, fields: Record<string, unknown>): Promise<Answer> {
  if (!connection) return {}
  const event = JSON.stringify(fields)
  const cwd = String(fields.cwd ?? "/")
  const timeout = fields.hook_event_name === "SessionStart" ? START_MS : PROGRAM_MS
  try {
    const answered = await askDaemon($, event, cwd).catch(() => undefined)
    const text = answered ?? (await askProgram($, event, cwd, timeout))
    const answer: Answer = text.trim() ? JSON.parse(text) : {}
    if (answer.systemMessage) $.ui.toast(answer.systemMessage, { timeoutMs: TOAST_MS })
    return answer
  } catch {
    connection = undefined
    return {}
  }
}

// Answers an event of the settings hooks, whose payload the daemon reads as it is.
async function answerClassic($: EngineInterface, e: any, next: any) {
  if (!hasTried) await reconnect($)
  const { session_id, transcript_path, cwd, permission_mode } = e
  common = { ...common, session_id, transcript_path, cwd }
  if (permission_mode) common.permission_mode = permission_mode
  const answer = await ask($, e)
  await mark($)
  const result = await next(e)
  const context = joinContext(result.additionalContext, answer)
  const changed = context.length ? { ...result, additionalContext: context } : result
  if (answer.continue !== false) return changed
  return { ...changed, preventContinuation: true, stopReason: answer.stopReason }
}

function joinContext(texts: readonly string[] | undefined, answer: Answer): string[] {
  const text = answer.hookSpecificOutput?.additionalContext
  return text ? [...(texts ?? []), text] : [...(texts ?? [])]
}

export const register: Register = (on) => {
  on("classic.SessionStart", async ($, e, next) => {
    await reconnect($)
    return answerClassic($, e, next)
  })

  on("classic.UserPromptSubmit", async ($, e, next) => {
    if (e.permission_mode) common.permission_mode = e.permission_mode
    await mark($)
    return next(e)
  })

  on("prompt.submit", async ($, e, next) => {
    if (e.isMeta || !FROM_THE_USER.includes(e.origin.kind) || !connection) return next(e)
    const { promptId } = await $.session.info()
    const fields = { ...common, prompt_id: promptId, prompt: e.text }
    const answer = await ask($, { ...fields, hook_event_name: "UserPromptSubmit" })
    const context = joinContext(e.context, answer)
    return next(context.length ? { ...e, context } : e)
  })

  on("turn.start", ($, e, next) => {
    if (e.agentId === undefined) turn = e.turnId
    return next(e)
  })

  on("tool.call", async ($, e, next) => {
    const { tool, tool_use_id, agentId, requestMeta, consent, ...input } = e as any
    if (!GUARDED.includes(tool)) return next(e)
    const answer = await ask($, {
      ...common,
      ...(agentId ? { agent_id: agentId } : {}),
      hook_event_name: "PreToolUse",
      tool_name: tool,
      tool_input: input,
      tool_use_id,
      shows_reason: true, // in the dialog
    })
    const decision = answer.hookSpecificOutput ?? {}
    const reason = decision.permissionDecisionReason ?? ""
    if (answer.continue === false) {
      await $.turn.abort({ turnId: turn }).catch(() => {})
      return { deny: answer.stopReason ?? "" }
    }
    if (decision.permissionDecision === "deny") return { deny: reason }
    if (decision.permissionDecision === "ask") questions.set(tool_use_id, reason)
    await mark($)
    const ran = await next(e)
    questions.delete(tool_use_id)
    const context = joinContext(ran.context, answer)
    return ran.deny === undefined && context.length ? { ...ran, context } : ran
  })

  // The dialog about a call shows the reason of this event's answer.
  on("classic.PreToolUse", async ($, e, next) => {
    const beneath = await next(e)
    const reason = questions.get(e.tool_use_id ?? "")
    if (!reason || beneath.deny !== undefined) return beneath
    const { allow, ask: other, ...rest } = beneath
    return { ...rest, ask: other ? `${other}\n${reason}` : reason }
  })

  on("classic.PostToolUse", ($, e, next) =>
    LEARNED.includes(e.tool_name) ? answerClassic($, e, next) : next(e),
  )
  on("classic.PostToolUseFailure", ($, e, next) => answerClassic($, e, next))
  on("classic.PostToolBatch", ($, e, next) => answerClassic($, e, next))
  on("classic.SubagentStart", ($, e, next) => answerClassic($, e, next))
  on("classic.Stop", ($, e, next) => answerClassic($, e, next))
  on("classic.SessionEnd", ($, e, next) => answerClassic($, e, next))
}
