// Reads a log for what a complete reading of its surface takes in silence: what DSH would refuse, and what is odd.

import type { LogReader } from '../decode/decode.ts'
import { SurfaceReader } from '../fold/surface.ts'
import { titleOf } from '../project/title.ts'
import { briefText } from '../text/json-bytes.ts'
import type { LogOnlyEvent, SessionHeader, SurfaceEvent, SurfaceMessage } from '../types.ts'
import { Findings } from './findings.ts'
import type { SecretFindings } from './secret-findings.ts'

/** Finds what a complete reading of a surface takes in silence. */
export class CheckReader implements LogReader<void> {
  events = 0
  readonly findings: Findings
  readonly #reader: SurfaceReader
  readonly #header: SessionHeader
  readonly #secrets: SecretFindings | undefined
  #turn: number | undefined

  constructor(header: SessionHeader, file: string, secrets?: SecretFindings) {
    this.#header = header
    this.#secrets = secrets
    this.#reader = new SurfaceReader(header, { everyRow: true, wants: () => false })
    this.findings = new Findings(file)
  }

  surface(event: SurfaceEvent): void {
    this.#reader.surface(event)
    this.events = event.seq + 1
    this.#checkMessage(event.message(), event)
  }

  logOnly(event: LogOnlyEvent): void {
    this.#reader.logOnly(event)
    this.events = event.seq + 1
    const { seq, type } = event
    if (type === 'turn/start') {
      if (this.#turn !== undefined) this.#note('turn-brackets', 'A turn starts before the one before it ended', seq)
      this.#turn = seq
    } else if (type === 'turn/end') {
      if (this.#turn === undefined) this.#note('turn-brackets', 'A turn ends that was not started', seq)
      this.#turn = undefined
    } else if (type === 'session/title') this.#checkTitle(event)
    else if (type === 'image/offload') this.#checkOffload(event)
    else if (this.#header.version >= 3 && type.startsWith('tool/code-dispatch')) {
      this.#refusedByDsh('retired-event', `${briefText(type)} has another name from version 3 on`, seq)
    } else if (this.#header.version >= 2 && type === 'assistant/chunk') {
      this.#refusedByDsh('retired-event', `${type} events end with version 1`, seq)
    }
  }

  finish(): void {}

  #checkMessage(message: SurfaceMessage, event: SurfaceEvent): void {
    const { seq, text, sourceKind, type } = message
    this.#secrets?.look(text, { seq }, `The text of the ${type}`)
    if (!text.isWellFormed()) this.#note('lone-surrogate', 'A message holds a lone surrogate, printed as U+FFFD', seq)
    const { version } = this.#header
    if (version === 4 && sourceKind.startsWith('plugin')) {
      this.#refusedByDsh('retired-source', `A ${type} has a source of kind plugin, which version 4 retired`, seq)
    }
    if (type === 'assistant/message') this.#checkAssistant(event.data(), seq)
    if (version === 4 && type === 'tool/result' && message.role !== 'tool') {
      this.#refusedByDsh('retired-shape', 'A tool/result has the wrapper that version 4 retired', seq)
    }
  }

  #checkAssistant(data: unknown, seq: number): void {
    const { message, stream } = data as {
      message: { source: Record<string, unknown>; content: readonly Record<string, unknown>[] }
      stream?: unknown
    }
    this.#lookAtSilent(message.content, seq)
    const { provider, model } = message.source
    if (typeof provider !== 'string' || typeof model !== 'string') {
      this.#refusedByDsh('message-source', 'An assistant/message does not name its provider and model', seq)
    }
    if (this.#header.version >= 2 && this.#header.version <= 4 && !Array.isArray(stream)) {
      this.#refusedByDsh('message-stream', 'An assistant/message has no stream', seq)
    }
  }

  /** What an assistant asks of tools and thinks is in no transcript, but it is in the log. */
  #lookAtSilent(content: readonly Record<string, unknown>[], seq: number): void {
    if (!this.#secrets) return
    for (const { type, arguments: given, text } of content) {
      const spoken = type === 'tool-call' ? given : type === 'reasoning' ? text : undefined
      const whole = typeof spoken === 'string' || spoken === undefined ? spoken : JSON.stringify(spoken)
      if (whole !== undefined) this.#secrets.look(whole, { seq }, `A ${type} of the assistant`)
    }
  }

  #checkTitle(event: LogOnlyEvent): void {
    const title = titleOf(event.data())
    if (title === undefined) this.#refusedByDsh('title-shape', 'A session/title holds no title', event.seq)
    else this.#secrets?.look(title, { seq: event.seq }, 'The title')
    if (title?.isWellFormed() === false)
      this.#note('lone-surrogate', 'A title holds a lone surrogate, printed as U+FFFD', event.seq)
  }

  /** Offloaded images must stand on messages of the surface (FORMAT.md section 5); text is not touched either way. */
  #checkOffload(event: LogOnlyEvent): void {
    const data = event.data() as { targets?: unknown } | null
    const targets = Array.isArray(data?.targets) ? data.targets : []
    const missing = targets.find((target: unknown) => {
      const seq = (target as { seq?: unknown } | null)?.seq
      return typeof seq !== 'number' || !this.#reader.has(seq)
    })
    if (targets.length === 0 || missing !== undefined) {
      this.#refusedByDsh(
        'image-offload-target',
        'An image/offload names a message that is not on the surface',
        event.seq,
      )
    }
  }

  #note(rule: string, message: string, seq: number): void {
    this.findings.add({ severity: 'note', rule, message, seq })
  }

  #refusedByDsh(rule: string, message: string, seq: number): void {
    this.findings.add({ severity: 'refused-by-dsh', rule, message, seq })
  }
}
