// Written by `lessons install pi`; `lessons uninstall pi` removes it.
// It hands pi's events to lessons-hook and puts its answers where the model or the user sees them.
// Whatever goes wrong here, pi goes on as if the extension were not there.
import { spawn } from "node:child_process"

const PROGRAM = "lessons-hook"
const AGENT = "pi"
const DEADLINE_MS = 3000

type Answer = { refuse?: string; context?: string; message?: string }

const textOf = (content: any): string =>
  (Array.isArray(content) ? content : [])
    .filter((part: any) => part?.type === "text")
    .map((part: any) => part.text)
    .join("\n")

export default function (pi: any) {
  const reminders = new Map<string, string>()
  const refused = new Set<string>()
  const calls = new Map<string, unknown>()
  let begun = ""
  let source = "startup"
  let waiting = ""
  let lastText = ""

  const ask = (event: string, ctx: any, rest: Record<string, unknown> = {}): Promise<Answer> =>
    new Promise((resolve) => {
      const sessionID = ctx.sessionManager?.getSessionId?.() ?? ""
      const child = spawn(PROGRAM, [AGENT], { stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => child.kill(), DEADLINE_MS)
      let printed = ""
      child.on("error", () => resolve({}))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (data) => (printed += data))
      child.on("close", () => {
        clearTimeout(timer)
        try {
          const answer: Answer = printed.trim() ? JSON.parse(printed) : {}
          if (answer.message && ctx.hasUI) ctx.ui.notify(answer.message, "info")
          resolve(answer)
        } catch {
          resolve({})
        }
      })
      child.stdin.end(JSON.stringify({ event, sessionID, cwd: ctx.cwd, ...rest }))
    })

  const wait = (context: string | undefined) => {
    if (context) waiting = [waiting, context].filter(Boolean).join("\n\n")
  }

  const take = (): string => {
    const text = waiting
    waiting = ""
    return text
  }

  pi.on("session_start", async (event: any) => {
    source = event.reason
  })

  // The message is stored in the session: the model reads it after the prompt, the user sees it.
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    if (event.messageType === "custom" || !event.prompt) return
    const session = ctx.sessionManager?.getSessionId?.() ?? ""
    const texts = []
    if (begun !== session) {
      begun = session
      // `pi --continue` calls itself a startup; its chat has our messages of the first process.
      const entries = ctx.sessionManager?.getEntries?.() ?? []
      const isContinued = entries.some((entry: any) => entry.customType === "lessons")
      texts.push((await ask("start", ctx, { source: isContinued ? "resume" : source })).context)
    }
    texts.push((await ask("prompt", ctx, { text: event.prompt })).context, take())
    const content = texts.filter(Boolean).join("\n\n")
    if (content) return { message: { customType: "lessons", content, display: true } }
  })

  pi.on("tool_call", async (event: any, ctx: any) => {
    const { toolName: tool, toolCallId: callID, input: args } = event
    const answer = await ask("before", ctx, { callID, tool, args })
    if (answer.refuse) {
      refused.add(callID)
      return { block: true, reason: answer.refuse }
    }
    if (answer.context) reminders.set(callID, answer.context)
  })

  pi.on("tool_result", async (event: any, ctx: any) => {
    const { toolName: tool, toolCallId: callID, input: args } = event
    calls.set(callID, args)
    if (event.isError) return // reported below, as unknown tools are
    const { content, structuredContent } = event
    const metadata = { exit: structuredContent?.exit_code ?? 0 }
    const answer = await ask("after", ctx, { callID, tool, args, output: textOf(content), metadata })
    const text = [reminders.get(callID), answer.context, take()].filter(Boolean).join("\n\n")
    reminders.delete(callID)
    if (text) return { content: [...content, { type: "text", text }], structuredContent }
  })

  // pi drops what is added to the result of most failed calls: a message brings it before the
  // next request instead.
  pi.on("tool_execution_end", async (event: any, ctx: any) => {
    const { toolName: tool, toolCallId: callID, result } = event
    const args = calls.get(callID) ?? {}
    calls.delete(callID)
    if (!event.isError || refused.delete(callID)) return
    const error = textOf(result?.content)
    const answer = await ask("failed", ctx, { callID, tool, args, error })
    const texts = [reminders.get(callID), answer.context, take()]
    reminders.delete(callID)
    const content = texts.filter(Boolean).join("\n\n")
    const message = { customType: "lessons", content, display: true }
    if (content) pi.sendMessage(message, { deliverAs: "steer" })
  })

  pi.on("session_compact", async (_event: any, ctx: any) => {
    wait((await ask("compact", ctx)).context)
  })

  pi.on("turn_end", async (event: any) => {
    lastText = textOf(event.message?.content) || lastText
  })

  pi.on("agent_settled", async (_event: any, ctx: any) => {
    await ask("stop", ctx, { text: lastText })
    lastText = ""
  })

  pi.on("session_shutdown", async (_event: any, ctx: any) => {
    await ask("end", ctx)
  })
}
