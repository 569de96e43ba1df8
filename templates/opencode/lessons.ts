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
  const afterFailure = new Map<string, string>()
  const afterCompaction = new Map<string, string>()
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
      const { sessionID } = input
      const messageID = input.messageID ?? output.message?.id
      answers.delete(sessionID)
      await begin(sessionID)
      const answer = await ask("prompt", { sessionID, messageID, text })
      if (answer.context) output.parts.push(hiddenPart(output.parts, answer.context))
    },

    // The system prompt has only texts that stay the same until the next compaction, because the
    // provider caches a request up to its first change. Small models write titles and summaries
    // through here as well.
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID || isTitleWriter(output.system)) return
      const start = (await starts.get(input.sessionID))?.context
      const texts = [start, afterCompaction.get(input.sessionID)].filter(Boolean)
      if (texts.length) output.system.push(texts.join("\n\n"))
    },

    // Runs for each request of a chat and of a compaction, but not for the request for a title, which
    // may still read the same objects. No hook can change the result of a failed call, so its text is
    // added here each time.
    "experimental.chat.messages.transform": async (_input, output) => {
      const messages = output.messages as any[]
      for (const [number, message] of messages.entries()) {
        const parts = message.parts.map((part: any) => {
          const text = afterFailure.get(part.callID)
          const { state } = part
          if (part.metadata?.lessons) return { ...part, ignored: false }
          if (!text || state?.status !== "error") return part
          return { ...part, state: { ...state, error: `${state.error}\n\n${text}` } }
        })
        messages[number] = { ...message, parts }
      }
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
      const { context } = await ask("compact", { sessionID: input.sessionID })
      afterCompaction.delete(input.sessionID)
      if (!context) return
      output.context.push(context)
      afterCompaction.set(input.sessionID, context) // the summary may leave it out
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
            const reminder = reminders.get(callID)
            reminders.delete(callID)
            const { context } = await ask("failed", rest)
            const texts = [reminder, context].filter(Boolean)
            if (texts.length) afterFailure.set(callID, texts.join("\n\n"))
          }
          break
        }
        case "session.idle": {
          const sessionID = data.sessionID
          if (children.has(sessionID)) break
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
          afterCompaction.delete(sessionID)
          if (sessionID) await ask("end", { sessionID })
          break
        }
      }
    },
  }
}

const isTitleWriter = (system: string[]) =>
  system.some((text) => text.includes("title generator") || text.includes("generate a title"))

// A part of a message that the user does not see. opencode stores it with the chat and leaves it out
// of all requests while it is ignored. Parts are in the order of their ids.
const hiddenPart = (parts: any[], text: string): any => {
  const { id, sessionID, messageID } = parts[parts.length - 1]
  const hidden = { synthetic: true, ignored: true, metadata: { lessons: true } }
  return { id: `${id}z`, sessionID, messageID, type: "text", text, ...hidden }
}
