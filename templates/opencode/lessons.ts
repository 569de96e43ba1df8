// Written by `lessons install opencode`; `lessons uninstall opencode` removes it.
// It hands opencode's events to lessons-hook and puts its answers where the model or the user
// sees them. Whatever goes wrong here, opencode goes on as if the plugin were not there.
import type { Plugin } from "@opencode-ai/plugin"

const PROGRAM = "lessons-hook"
const AGENT = "opencode"
const DEADLINE_MS = 3000

type Answer = { refuse?: string; context?: string; message?: string }

export const Lessons: Plugin = async ({ client, directory }) => {
  const starts = new Map<string, Promise<Answer>>()
  const waiting = new Map<string, string>()
  const ledgers = new Map<string, string>()
  const answers = new Map<string, string>()
  const failed = new Set<string>()
  const steps = new Map<string, string>()
  const reminders = new Map<string, string>()
  const children = new Set<string>()
  const summaries = new Set<string>()
  const compacted = new Set<string>()
  let missed = false

  const ask = async (event: string, rest: Record<string, unknown>): Promise<Answer> => {
    let child
    try {
      child = Bun.spawn([PROGRAM, AGENT], {
        stdin: new Blob([JSON.stringify({ event, cwd: directory, ...rest })]),
        stdout: "pipe",
        stderr: "ignore",
      })
    } catch {
      if (!missed) {
        missed = true
        await say(`Lessons are off: ${PROGRAM} is gone; run \`lessons install ${AGENT}\` again`)
      }
      return {}
    }
    try {
      const timer = setTimeout(() => child.kill(), DEADLINE_MS)
      const text = await new Response(child.stdout).text()
      clearTimeout(timer)
      const answer: Answer = text.trim() ? JSON.parse(text) : {}
      if (answer.message) await say(answer.message)
      return answer
    } catch {
      return {}
    }
  }

  const say = async (message: string) => {
    try {
      await client.tui.showToast({ body: { message, variant: "info" } })
    } catch {
      // No terminal is attached (opencode run, opencode serve).
    }
    try {
      await client.app.log({ body: { service: "lessons", level: "info", message } })
    } catch {
      // The log is a courtesy.
    }
  }

  const keep = (session: string | undefined, answer: Answer) => {
    if (!session || !answer.context) return
    const before = waiting.get(session)
    waiting.set(session, before ? `${before}\n\n${answer.context}` : answer.context)
  }

  // A session that is resumed was created by another process: its first prompt begins it here.
  const begin = (sessionID: string): Promise<Answer> => {
    const known = starts.get(sessionID)
    if (known) return known
    const child = children.has(sessionID)
    const answer = child ? ask("subagent", { sessionID }) : ask("start", { sessionID })
    starts.set(sessionID, answer)
    return answer
  }

  return {
    "chat.message": async (input, output) => {
      const text = output.parts
        .filter((part: any) => part.type === "text" && !part.synthetic)
        .map((part: any) => part.text)
        .join("\n")
      if (!text.trim()) return
      const messageID = input.messageID ?? output.message?.id
      waiting.delete(input.sessionID)
      answers.delete(input.sessionID)
      await begin(input.sessionID)
      keep(input.sessionID, await ask("prompt", { sessionID: input.sessionID, messageID, text }))
    },

    // Small models write titles and summaries through here as well: they ask without a session,
    // or before the prompt was seen, and find nothing waiting. The text stays for every request
    // of the turn, for the system prompt is built anew each time.
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID || isTitleWriter(output.system)) return
      const start = (await starts.get(input.sessionID))?.context
      const texts = [start, waiting.get(input.sessionID), ledgers.get(input.sessionID)].filter(Boolean)
      if (texts.length) output.system.push(texts.join("\n\n"))
    },

    "tool.execute.before": async (input, output) => {
      const { sessionID, callID, tool } = input
      const answer = await ask("before", { sessionID, callID, tool, args: output.args })
      // The reminder stands beside the result of the call that it is about.
      if (answer.context) reminders.set(callID, answer.context)
      // The model is shown the text as the result of the call, and goes on.
      if (answer.refuse) throw new Error(answer.refuse)
    },

    "tool.execute.after": async (input, output) => {
      const { sessionID, callID, tool } = input
      const args = (input as any).args
      const answer = await ask("after", {
        sessionID,
        messageID: steps.get(callID),
        callID,
        tool,
        args,
        output: output.output,
        metadata: output.metadata,
      })
      const texts = [output.output, reminders.get(callID), answer.context].filter(Boolean)
      reminders.delete(callID)
      output.output = texts.join("\n\n")
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("compact", { sessionID: input.sessionID })
      if (!answer.context) return
      output.context.push(answer.context)
      // What was read and changed is to outlive the summary, however that is worded.
      const files = answer.context.indexOf("## Files ")
      if (files >= 0) ledgers.set(input.sessionID, answer.context.slice(files))
    },

    event: async ({ event }) => {
      const data = event.properties as any
      switch (event.type as string) {
        case "session.created": {
          const info = data.info ?? {}
          if (info.parentID) children.add(info.id)
          else await begin(info.id)
          break
        }
        case "message.updated": {
          const info = data.info ?? {}
          if (info.role === "assistant" && info.summary === true) summaries.add(info.id)
          break
        }
        case "message.part.updated": {
          const part = data.part ?? {}
          if (summaries.has(part.messageID)) {
            compacted.add(part.sessionID)
            break
          }
          compacted.delete(part.sessionID)
          if (part.type === "text" && part.text && !part.synthetic && part.time?.end) {
            answers.set(part.sessionID, part.text)
          }
          if (part.type === "tool" && part.messageID) steps.set(part.callID, part.messageID)
          if (part.type === "tool" && part.state?.status === "error" && !failed.has(part.callID)) {
            failed.add(part.callID)
            const { sessionID, messageID, callID, tool, state } = part
            const rest = { sessionID, messageID, callID, tool, args: state.input, error: state.error }
            // No hook can change the result of a failed call.
            keep(sessionID, { context: reminders.get(callID) })
            reminders.delete(callID)
            keep(sessionID, await ask("failed", rest))
          }
          break
        }
        case "session.idle": {
          const sessionID = data.sessionID
          if (children.has(sessionID)) break
          waiting.delete(sessionID)
          steps.clear()
          reminders.clear()
          // A summary is no answer: the turn before it has ended, or goes on behind it.
          if (compacted.delete(sessionID)) break
          await ask("stop", { sessionID, text: answers.get(sessionID) ?? "" })
          break
        }
        case "session.deleted": {
          const sessionID = data.info?.id
          starts.delete(sessionID)
          if (sessionID) await ask("end", { sessionID })
          break
        }
      }
    },
  }
}

const isTitleWriter = (system: string[]) =>
  system.some((text) => text.includes("title generator") || text.includes("generate a title"))
