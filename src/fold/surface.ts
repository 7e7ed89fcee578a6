// Reads one log into its surface: decode feeds fold, and the title and context window are picked up on the way.

import {
  type DecodeOptions,
  decodeLog,
  type LogFacts,
  type LogReader,
  type LogSource,
  type ResumePoint,
} from '../decode/decode.ts'
import { isReadFailure, readFailed } from '../errors.ts'
import { project } from '../project/project.ts'
import { openingOf, titleOf } from '../project/title.ts'
import type { LogOnlyEvent, Replacement, SessionHeader, SurfaceEvent, SurfaceMessage } from '../types.ts'
import { type FoldPlan, isViolation, SurfaceFold } from './fold.ts'
import type { FoldViolation } from './violation.ts'

/** Options of reading a surface. */
export interface SurfaceOptions extends DecodeOptions {
  /** Fold the log only through this seq; the whole log must be readable all the same. */
  readonly throughSeq?: number
  /** Which surface messages to read; the rest is folded but never parsed. Default: all. */
  readonly wants?: (event: Pick<SurfaceEvent, 'type' | 'seq'>) => boolean
  /**
   * UTF-8 bytes of conversation that are enough: the texts of messages older than the newest so many are not read but counted,
   * except in checkpoints. Default: all are read.
   */
  readonly enoughBytes?: number | undefined
  /** Which messages to read when a replacement takes them off the surface; they stay in memory. Default: none. */
  readonly keepsShadowed?: (event: Pick<SurfaceEvent, 'type' | 'seq'>) => boolean
}

/** A message that is no longer on the surface, and the seq of the event that took its place. */
export interface ShadowedSurfaceMessage {
  readonly message: SurfaceMessage
  readonly shadowedBySeq: number
}

/** What one read of a log gives. */
export interface Surface extends LogFacts {
  /** Seqs on the surface, in surface order. */
  readonly nodes: readonly number[]
  readonly replacements: readonly Replacement[]
  /** The wanted messages on the surface, in surface order. */
  readonly messages: readonly SurfaceMessage[]
  /** The messages `keepsShadowed` asked for, in log order. */
  readonly shadowed: readonly ShadowedSurfaceMessage[]
  /** The latest title in the log, inherited ones included. */
  readonly title: string | undefined
  /** Tokens, from the newest `request/context` that names them. */
  readonly contextWindow: number | undefined
}

/**
 * Reads `source` once and folds it. Throws as `decodeLog` does; a broken fold rule is `corrupt` with the rule's name.
 *
 * @example
 * const log = await locateSession('login-fix', { roots: [root] })
 * const surface = await readSurface(sourceOf(log))
 * surface.title // => 'Fix the login redirect'
 * surface.nodes // => [19, 23, 24]
 * surface.replacements.map(({ seq, start, end }) => ({ seq, start, end })) // => [{ seq: 19, start: 2, end: 14 }]
 */
export async function readSurface(source: LogSource, options: SurfaceOptions = {}): Promise<Surface> {
  const { result, facts } = await decodeLog(source, (header) => new SurfaceReader(header, options), options)
  return { ...facts, ...result }
}

/** What a list shows of a log that was read whole. */
export interface TitleReading extends LogFacts {
  readonly title: string | undefined
  /** The beginning of the first message of the user, as one line. */
  readonly firstMessage: string | undefined
  /** What a later read of the same log needs in order to go on where this one ended. */
  readonly resume: TitleResume | undefined
}

/** A place where reading can go on, and what was known there. JSON. */
export interface TitleResume extends Known {
  readonly point: ResumePoint
}

/** What is picked up in reading a log for its title. */
interface Known {
  readonly title?: string
  readonly firstMessage?: string
}

/**
 * Reads a log for its title, checking all that `readSurface` checks except the shape of messages. With `earlier` only what
 * was added since is read; when that turns out not to fit, the whole log. Throws as `readSurface` does.
 */
export async function readTitle(
  source: Extract<LogSource, { kind: 'file' }>,
  options: DecodeOptions = {},
  earlier?: { readonly header: SessionHeader; readonly resume: TitleResume },
): Promise<TitleReading> {
  if (earlier) {
    const { header, resume } = earlier
    try {
      return await readTitleFrom(source, { ...options, resumeFrom: { header, point: resume.point } }, resume)
    } catch (error) {
      // The rest alone cannot always be judged: a replacement may shadow what stands before it. The whole log decides.
      if (!isReadFailure(error)) throw error
    }
  }
  return readTitleFrom(source, options)
}

async function readTitleFrom(source: LogSource, options: DecodeOptions, known: Known = {}): Promise<TitleReading> {
  let reader: TitleReader | undefined
  const { facts } = await decodeLog(
    source,
    (header) => {
      reader = new TitleReader(header, known)
      return reader
    },
    options,
  )
  const { resumePoint: point } = facts
  return {
    ...facts,
    title: reader?.title,
    firstMessage: reader?.firstMessage,
    resume: point && { point, ...reader?.knownAtMark },
  }
}

type Reading = Pick<Surface, 'nodes' | 'replacements' | 'messages' | 'shadowed' | 'title' | 'contextWindow'>

/**
 * Folds a log as it comes. The one reader behind every surface: `check` adds its findings to it, so that a complete reading
 * (`everyRow`) refuses the same logs in every command.
 */
export class SurfaceReader implements LogReader<Reading> {
  readonly #fold: SurfaceFold
  readonly #isComplete: boolean
  readonly #throughSeq: number
  readonly #wants: NonNullable<SurfaceOptions['wants']>
  readonly #enoughBytes: number
  readonly #keepsShadowed: SurfaceOptions['keepsShadowed']
  readonly #shadowed: ShadowedSurfaceMessage[] = []
  #title: string | undefined
  #contextWindow: number | undefined
  /** The surface at `throughSeq`, once a complete reading has gone on behind it. */
  #earlier: Reading | undefined

  constructor(header: SessionHeader, options: SurfaceOptions, title?: string) {
    this.#isComplete = options.everyRow ?? false
    this.#title = title
    this.#fold = new SurfaceFold(header.version)
    this.#throughSeq = options.throughSeq ?? Number.POSITIVE_INFINITY
    this.#wants = options.wants ?? (() => true)
    this.#enoughBytes = options.enoughBytes ?? Number.POSITIVE_INFINITY
    this.#keepsShadowed = options.keepsShadowed
  }

  get title(): string | undefined {
    return this.#title
  }

  /** Whether this message is on the surface. */
  has(seq: number): boolean {
    return this.#fold.has(seq)
  }

  surface(event: SurfaceEvent): void {
    if (!this.#takes(event)) {
      event.release()
      return
    }
    if (this.#isComplete) event.message()
    const plan = this.#fold.plan(event)
    if (isViolation(plan)) throw foldRefusal(plan)
    // Applying releases the bytes of what is shadowed, so its text is read before.
    if (plan.kind === 'replace') this.#readShadowed(plan)
    this.#fold.apply(plan)
    // Only a tool result is looked at again, when a later one replaces it.
    if (!this.#isKept(event) && event.type !== 'tool/result') event.release()
  }

  /** Whether an event is folded: behind `throughSeq` only by a complete reading, whose result is that of before. */
  #takes({ seq }: { readonly seq: number }): boolean {
    if (seq <= this.#throughSeq) return true
    if (this.#isComplete) this.#earlier ??= this.#reading()
    return this.#isComplete
  }

  #isKept(event: SurfaceEvent): boolean {
    if (this.#earlier) return false
    return this.#wants(event) || (this.#keepsShadowed?.(event) ?? false)
  }

  logOnly(event: LogOnlyEvent): void {
    if (!this.#takes(event)) return
    const violation = this.#fold.checkLogOnly(event)
    if (violation) throw foldRefusal(violation, event.isKnown ? 'corrupt' : 'unsupported')
    switch (event.type) {
      case 'session/title':
        this.#title = titleOf(event.data()) ?? this.#title
        break
      case 'request/context':
        this.#contextWindow = contextWindowOf(event.data()) ?? this.#contextWindow
        break
      case 'request/header':
        this.#fold.noteRequestHeader(event.seq, () => event.data())
        break
    }
  }

  #readShadowed({ event, shadowed }: Extract<FoldPlan, { kind: 'replace' }>): void {
    if (!this.#keepsShadowed || this.#earlier) return
    for (const node of shadowed) {
      if (!this.#keepsShadowed(node.event)) continue
      this.#shadowed.push({ message: node.event.message(), shadowedBySeq: event.seq })
    }
  }

  finish(): Reading {
    return this.#earlier ?? this.#reading()
  }

  #reading(): Reading {
    const events = [...this.#fold.events()]
    return {
      nodes: events.map(({ seq }) => seq),
      replacements: [...this.#fold.replacements],
      messages: this.#messagesOf(events.filter((event) => this.#wants(event))),
      shadowed: [...this.#shadowed].sort((one, other) => one.message.seq - other.message.seq),
      title: this.#title,
      contextWindow: this.#contextWindow,
    }
  }

  #messagesOf(events: readonly SurfaceEvent[]): readonly SurfaceMessage[] {
    const firstRead = this.#firstRead(events)
    return events.map((event, index) => {
      const counted = index < firstRead ? event.counted() : undefined
      return counted && !counted.checkpoint ? counted : event.message()
    })
  }

  /** Index of the oldest message whose text is read. Found before any is read, so that the first wrong one is refused first. */
  #firstRead(events: readonly SurfaceEvent[]): number {
    if (this.#enoughBytes === Number.POSITIVE_INFINITY) return 0
    let bytes = 0
    for (let index = events.length - 1; index > 0; index--) {
      const message = events[index]?.counted()
      if (message) for (const { textBytes = 0 } of project([message]).messages) bytes += textBytes
      if (bytes > this.#enoughBytes) return index
    }
    return 0
  }
}

/**
 * Folds without reading messages, but for the first one of the user. A fold that starts inside a log knows less than one that starts at its beginning, so it
 * refuses more, and never takes what the other refuses.
 */
class TitleReader extends SurfaceReader {
  knownAtMark: Known
  firstMessage: string | undefined

  constructor(header: SessionHeader, { title, firstMessage }: Known) {
    super(header, { wants: () => false }, title)
    this.firstMessage = firstMessage
    this.knownAtMark = this.#known
  }

  override surface(event: SurfaceEvent): void {
    if (this.firstMessage === undefined && event.type === 'user/message') this.firstMessage = openingIn(event)
    super.surface(event)
  }

  mark(): void {
    this.knownAtMark = this.#known
  }

  get #known(): Known {
    const { title, firstMessage } = this
    return { ...(title !== undefined && { title }), ...(firstMessage !== undefined && { firstMessage }) }
  }
}

function openingIn(event: SurfaceEvent): string | undefined {
  try {
    return openingOf(event.message())
  } catch (error) {
    // Whether a message has the right shape is for those to say who read it.
    if (isReadFailure(error)) return undefined
    throw error
  }
}

/** The context window a `request/context` payload names, in tokens. */
export function contextWindowOf(data: unknown): number | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const { contextWindow } = data as { contextWindow?: unknown }
  return Number.isSafeInteger(contextWindow) && (contextWindow as number) > 0 ? (contextWindow as number) : undefined
}

/** An event type nobody knows may be legal on a surface nobody knows; everything else is damage. */
export function foldRefusal(
  { rule, seq, message, expected, actual }: FoldViolation,
  reason: 'corrupt' | 'unsupported' = 'corrupt',
) {
  return readFailed(reason, `${message} (seq ${seq})`, { rule, seq, expected, actual })
}
