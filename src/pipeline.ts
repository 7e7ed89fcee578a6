// The sentence of the product: locate -> decode -> fold -> project -> retain -> render. The only file that knows all
// stages; it prints nothing and knows no terminal.

import { type DecodeOptions, decodeLog, type LogSource } from './decode/decode.ts'
import { assertNever, cancelled, DshRefError, invalidConfig, invalidReference, throwIfCancelled } from './errors.ts'
import { readSurfaceOrPrefix, type SalvagedSurface } from './fold/salvage.ts'
import { contextWindowOf, readSurface, type SurfaceOptions } from './fold/surface.ts'
import { type LocatedLog, locateSession, sourceOf } from './locate/locate.ts'
import { project, turnsWithoutText } from './project/project.ts'
import { labelOf } from './project/title.ts'
import { parseReferenceText } from './reference/uri.ts'
import { renderSnapshot } from './render/snapshot.ts'
import { type Retained, retain } from './retain/retain.ts'
import type {
  Degraded,
  FullSnapshot,
  Issue,
  Omission,
  ProjectedMessage,
  ReferenceFacts,
  ReferenceMessage,
  SnapshotData,
  TextBlock,
} from './types.ts'

/** Hard maximum, and default, of distinct sessions in one message. */
export const MAX_REFERENCES = 3

/** Budget of a source when nothing is known about the target's context window, in bytes. */
export const DEFAULT_REFERENCE_BYTES = 65_536

/** Share of the target's context window that one source may take. */
export const DEFAULT_CONTEXT_FRACTION = 0.2

/** Bytes a token stands for when a window in tokens becomes a budget in bytes. */
const BYTES_PER_TOKEN = 4

/** A session to refer to: by id, by a log that was located, or by a surface that was read already. */
export type ReferenceInput =
  | { readonly sessionId: string; readonly label?: string | undefined }
  | { readonly log: LocatedLog; readonly label?: string | undefined }
  | { readonly surface: SalvagedSurface; readonly label?: string | undefined }

/** What decides how much of each source fits. */
export interface BudgetOptions {
  /** Bytes of one source's data object as tag-safe JSON; goes before everything else. */
  readonly maxReferenceBytes?: number | undefined
  /** Context window of the target in tokens; default: what the target's log says. */
  readonly contextWindow?: number | undefined
  /** 0 to 1, default 0.2. */
  readonly referenceContextFraction?: number | undefined
  /** 1 to 3, default 3. */
  readonly maxReferences?: number | undefined
}

/** A full transcript to save for a truncated source. */
export interface SpillRequest {
  readonly targetId: string
  /** 1-based position among the references. */
  readonly position: number
  readonly capture: SpillCapture
  readonly messages: readonly ProjectedMessage[]
}

/** What a transcript says about its origin, in the key order of its serialisation. */
export interface SpillCapture {
  readonly sessionId: string
  readonly label: string
  readonly cwd: string | null
  readonly capturedThroughSeq: number | null
  readonly capturedFormatVersion?: number
}

/** Saves a transcript; returns where, or throws. */
export type Spill = (request: SpillRequest) => Promise<Extract<FullSnapshot, { status: 'saved' }>>

/** Everything `prepare` needs. */
export interface PrepareRequest
  extends BudgetOptions,
    Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder' | 'everyRow'> {
  /** The message, with mentions in it. */
  readonly message: string
  /** Id of the session that receives; guards against self reference, and its log gives the context window. */
  readonly target?: string | undefined
  /** References after those mentioned in the message. */
  readonly references?: readonly ReferenceInput[]
  /** Directories with session logs, in order. */
  readonly roots: readonly string[]
  /** Read the longest valid prefix of a corrupt log instead of refusing it; the message then says so. */
  readonly salvage?: boolean | undefined
  /** Where full transcripts of truncated sources go; absent: nowhere. */
  readonly spill?: Spill | undefined
  /** Told of each log that was found, before it is read; what it throws refuses the message. */
  readonly onLocated?: ((log: LocatedLog) => void) | undefined
}

/** One source as it was read and cut. */
export interface PreparedSource {
  readonly data: SnapshotData
  readonly facts: ReferenceFacts
  readonly budgetBytes: number
  /** Bytes of `data` as tag-safe JSON. */
  readonly usedBytes: number
  /** Set when only a prefix of the log could be read. */
  readonly degraded?: Degraded
  /** Turns of the person that are images or files only, and so not in `data`; absent for none. */
  readonly turnsWithoutText?: number
}

/** The prepared message. */
export interface Prepared {
  /** The readable message: mentions replaced by `@label`. */
  readonly content: readonly TextBlock[]
  /** The "Referenced sessions" message, or nothing when no session is referred to. */
  readonly additionalContext: readonly ReferenceMessage[]
  readonly sources: readonly PreparedSource[]
  readonly omissions: readonly Omission[]
  readonly issues: readonly Issue[]
}

/**
 * Prepares a message and the snapshot of the sessions it refers to. All or nothing: throws `INVALID_CONFIG`,
 * `INVALID_REFERENCE`, `SELF_REFERENCE`, `TOO_MANY`, `READ_FAILED`, `BUDGET_EXCEEDED` or `CANCELLED`.
 *
 * @example
 * const { content, additionalContext } = await prepare({
 *   message: 'Do the same as in @[the login fix](dsh-session:ImxvZ2luLWZpeCI).',
 *   target: 'current',
 *   roots: [root],
 * })
 * content // => [{ type: 'text', text: 'Do the same as in @the login fix.' }]
 * additionalContext[0].source.references[0].retainedMessages // => 3
 */
export async function prepare(request: PrepareRequest): Promise<Prepared> {
  checkConfig(request)
  throwIfCancelled(request.signal)
  const { text, references: mentioned } = parseReferenceText(request.message)
  const inputs = distinct([...mentioned, ...checkReferences(request.references ?? [])], request)
  const content: TextBlock[] = [{ type: 'text', text: text.toWellFormed() }]
  if (inputs.length === 0) return { content, additionalContext: [], sources: [], omissions: [], issues: [] }

  const budget = await budgetOf(request)
  // A transcript to be saved needs all texts.
  const enoughBytes = request.spill ? undefined : budget.bytes
  const captures = await allOrFirstFailure(
    request.signal,
    inputs.map((input) => (signal: AbortSignal) => capture(input, { ...request, enoughBytes, signal })),
  )
  const issues: Issue[] = [...budget.issues, ...captures.flatMap((source) => source.issues)]
  const cut = captures.map((source) => ({ source, retained: retain(source, budget.bytes) }))
  const omissions: Omission[] = []
  for (const [index, { source, retained }] of cut.entries()) {
    if (!retained.facts.truncated) continue
    const fullSnapshot = await spillOf(source, index + 1, request, issues)
    omissions.push(omissionOf(retained, fullSnapshot))
  }
  // A cancellation after a save still prints nothing.
  throwIfCancelled(request.signal)
  const sources = cut.map(({ source, retained }, inputIndex): PreparedSource => {
    const { data, facts, bytes } = retained
    return {
      data,
      facts: referenceFacts(source, data, facts, inputIndex),
      budgetBytes: budget.bytes,
      usedBytes: bytes,
      ...(source.degraded && { degraded: source.degraded }),
      ...(source.turnsWithoutText !== undefined && { turnsWithoutText: source.turnsWithoutText }),
    }
  })
  const message: ReferenceMessage = {
    role: 'user',
    content: [
      {
        type: 'text',
        text: renderSnapshot(
          sources.map((source) => source.data),
          omissions,
          sources.flatMap(({ data, degraded }) =>
            degraded ? [{ label: data.label, throughSeq: degraded.throughSeq }] : [],
          ),
        ),
      },
    ],
    source: {
      kind: 'session-reference',
      form: 'recall',
      version: 1,
      references: sources.map((source) => source.facts),
    },
  }
  return { content, additionalContext: [message], sources, omissions, issues }
}

/** One source as captured: what retain cuts and spill saves. */
export interface Capture {
  readonly sessionId: string
  readonly label: string
  readonly cwd: string | null
  readonly capturedThroughSeq: number | null
  readonly formatVersion: number
  readonly messages: readonly ProjectedMessage[]
  readonly issues: readonly Issue[]
  readonly degraded?: Degraded
  /** Turns of the person that projection drops because they are images or files only; absent for none. */
  readonly turnsWithoutText?: number
}

/** How a source is read. */
export type CaptureOptions = Pick<
  PrepareRequest,
  'roots' | 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder' | 'everyRow' | 'salvage' | 'onLocated'
> &
  Pick<SurfaceOptions, 'enoughBytes'>

/** Reads one source whole and projects it. */
export async function capture(input: ReferenceInput, options: CaptureOptions): Promise<Capture> {
  const { surface, issues } = await surfaceOf(input, options)
  const { header } = surface
  const { messages } = project(surface.messages)
  const textless = turnsWithoutText(surface.messages)
  return {
    sessionId: header.id,
    label: input.label ?? labelOf(surface.title, header.id),
    cwd: header.cwd ?? null,
    capturedThroughSeq: surface.capturedThroughSeq,
    formatVersion: surface.formatVersion,
    messages,
    issues: [...issues, ...surface.issues, ...(messages.some(hasText) ? [] : [emptyConversation(header.id)])],
    ...(surface.degraded && { degraded: surface.degraded }),
    ...(textless > 0 && { turnsWithoutText: textless }),
  }
}

/** White space refers to nothing either. */
function hasText({ text }: ProjectedMessage): boolean {
  return /\S/.test(text)
}

function emptyConversation(sessionId: string): Issue {
  const message = 'The session has no text of a user or an assistant, so there is nothing to refer to'
  return { kind: 'empty-conversation', message, sessionId: sessionId.toWellFormed() }
}

async function surfaceOf(
  input: ReferenceInput,
  options: CaptureOptions,
): Promise<{ surface: SalvagedSurface; issues: readonly Issue[] }> {
  if ('surface' in input) return { surface: input.surface, issues: [] }
  const log = 'log' in input ? input.log : await locateSession(input.sessionId, options)
  options.onLocated?.(log)
  return {
    surface: await readSurfaceOrPrefix(sourceOf(log), { ...options, texts: 'conversation' }),
    issues: log.issues,
  }
}

/** Bytes each source may take (DESIGN.md section 3, "Budget"). */
async function budgetOf(request: PrepareRequest): Promise<{ bytes: number; issues: readonly Issue[] }> {
  if (request.maxReferenceBytes !== undefined) return { bytes: request.maxReferenceBytes, issues: [] }
  const { contextWindow, issues } = await targetWindow(request)
  if (contextWindow === undefined) return { bytes: DEFAULT_REFERENCE_BYTES, issues }
  const fraction = request.referenceContextFraction ?? DEFAULT_CONTEXT_FRACTION
  return { bytes: Math.max(DEFAULT_REFERENCE_BYTES, Math.floor(contextWindow * BYTES_PER_TOKEN * fraction)), issues }
}

/** The target need not be on disk, and a damaged log of it is no reason to refuse the sources. */
async function targetWindow(
  request: PrepareRequest,
): Promise<{ contextWindow: number | undefined; issues: readonly Issue[] }> {
  if (request.contextWindow !== undefined) return { contextWindow: request.contextWindow, issues: [] }
  if (request.target === undefined) return { contextWindow: undefined, issues: [] }
  try {
    const log = await locateSession(request.target, request)
    request.onLocated?.(log)
    return { contextWindow: await readContextWindow(sourceOf(log), request), issues: [] }
  } catch (error) {
    if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_READ_FAILED') throw error
    if (error.reason === 'not-found') return { contextWindow: undefined, issues: [] }
    const message = `The target's context window is unknown, because its log cannot be read: ${error.message}`
    const kind =
      error.reason === 'unsupported' ? 'unsupported-log' : error.reason === 'corrupt' ? 'corrupt-log' : 'unreadable-log'
    return { contextWindow: undefined, issues: [{ kind, message, sessionId: request.target.toWellFormed() }] }
  }
}

async function readContextWindow(source: LogSource, options: DecodeOptions): Promise<number | undefined> {
  if (options.everyRow) return (await readSurface(source, { ...options, wants: () => false })).contextWindow
  const { result } = await decodeLog(
    source,
    () => {
      let newest: number | undefined
      return {
        logOnly: (event) => {
          if (event.type === 'request/context') newest = contextWindowOf(event.data()) ?? newest
        },
        finish: () => newest,
      }
    },
    options,
  )
  return result
}

function referenceFacts(
  source: Capture,
  data: SnapshotData,
  facts: Retained['facts'],
  inputIndex: number,
): ReferenceFacts {
  return {
    sessionId: data.sessionId,
    label: data.label,
    ...(source.formatVersion !== 0 && { capturedFormatVersion: source.formatVersion }),
    capturedThroughSeq: data.capturedThroughSeq,
    compacted: facts.compacted,
    originalMessages: facts.originalMessages,
    retainedMessages: facts.retainedMessages,
    omittedMessages: facts.omittedMessages,
    omittedBytes: facts.omittedBytes,
    truncated: facts.truncated,
    inputIndex,
  }
}

function omissionOf({ data, facts }: Retained, fullSnapshot: FullSnapshot): Omission {
  return {
    sessionId: data.sessionId,
    capturedThroughSeq: data.capturedThroughSeq,
    omittedMessages: facts.omittedMessages,
    omittedBytes: facts.omittedBytes,
    fullSnapshot,
  }
}

async function spillOf(
  source: Capture,
  position: number,
  request: PrepareRequest,
  issues: Issue[],
): Promise<FullSnapshot> {
  if (!request.spill) return { status: 'unavailable', reason: 'storage-not-configured' }
  throwIfCancelled(request.signal)
  try {
    return await request.spill({
      targetId: request.target ?? '',
      position,
      capture: captureFacts(source),
      messages: source.messages,
    })
  } catch (error) {
    if (request.signal?.aborted) throw cancelled(error)
    // A failed save never fails the message (DESIGN.md section 3); a bug in saving is not dressed as one.
    if (!(error instanceof DshRefError)) throw error
    issues.push({ kind: 'spill-failed', message: error.message, sessionId: source.sessionId.toWellFormed() })
    return { status: 'unavailable', reason: 'save-failed' }
  }
}

/** The capture record of a transcript. */
export function captureFacts(source: Capture): SpillCapture {
  return {
    sessionId: source.sessionId.toWellFormed(),
    label: source.label.toWellFormed(),
    cwd: source.cwd?.toWellFormed() ?? null,
    capturedThroughSeq: source.capturedThroughSeq,
    ...(source.formatVersion !== 0 && { capturedFormatVersion: source.formatVersion }),
  }
}

/** First appearances only; the target itself and too many sessions are refused. */
function distinct(inputs: readonly ReferenceInput[], request: PrepareRequest): ReferenceInput[] {
  const byId = new Map<string, ReferenceInput>()
  for (const input of inputs) {
    const id = idOf(input)
    if (!byId.has(id)) byId.set(id, input)
  }
  checkReferenceIds(byId.keys(), request)
  return [...byId.values()]
}

/**
 * Throws `SELF_REFERENCE` when the target is among the ids of the sessions to refer to, `TOO_MANY` when there are more
 * distinct ones than fit in one message. What is wrong with the ids needs no log to be located.
 */
export function checkReferenceIds(
  ids: Iterable<string>,
  { target, maxReferences: limit = MAX_REFERENCES }: Pick<PrepareRequest, 'target' | 'maxReferences'>,
): void {
  const distinctIds = new Set(ids)
  for (const id of distinctIds) {
    if (id === target) {
      throw new DshRefError(
        'SESSION_REFERENCE_SELF_REFERENCE',
        `Session ${JSON.stringify(id)} is the target itself; a session cannot refer to itself. Leave it out, or name another --target`,
        { sessionId: id },
      )
    }
  }
  if (distinctIds.size > limit) {
    throw new DshRefError(
      'SESSION_REFERENCE_TOO_MANY',
      `The message refers to ${distinctIds.size} sessions; at most ${limit} fit in one message. Leave some out`,
      { count: distinctIds.size, maxReferences: limit },
    )
  }
}

/** The exact id of a session to refer to. */
export function idOf(input: ReferenceInput): string {
  if ('sessionId' in input) return input.sessionId
  return 'log' in input ? input.log.header.id : input.surface.header.id
}

/** References come from untyped callers too: a wrong one is refused before anything is read. */
function checkReferences(references: readonly ReferenceInput[]): readonly ReferenceInput[] {
  references.forEach((reference: unknown, index) => {
    const isObject = typeof reference === 'object' && reference !== null && !Array.isArray(reference)
    const { sessionId, log, surface, label } = (isObject ? reference : {}) as Record<string, unknown>
    const isNamed = typeof sessionId === 'string' || typeof log === 'object' || typeof surface === 'object'
    if (isNamed && (label === undefined || typeof label === 'string')) return
    throw invalidReference(`Reference ${index + 1} is not {sessionId: string, label?: string}`, { index })
  })
  return references
}

function checkConfig({
  maxReferenceBytes,
  contextWindow,
  referenceContextFraction,
  maxReferences,
}: BudgetOptions): void {
  const isCount = (value: number, most: number) => Number.isSafeInteger(value) && value >= 1 && value <= most
  const refuse = (option: string, value: number, allowed: string) => {
    throw invalidConfig(`${option} is ${value}; it takes ${allowed}`, { option, value, allowed })
  }
  if (maxReferenceBytes !== undefined && !isCount(maxReferenceBytes, Number.MAX_SAFE_INTEGER)) {
    refuse('maxReferenceBytes', maxReferenceBytes, 'a whole number of bytes from 1 on')
  }
  if (contextWindow !== undefined && !isCount(contextWindow, Number.MAX_SAFE_INTEGER)) {
    refuse('contextWindow', contextWindow, 'a whole number of tokens from 1 on')
  }
  if (referenceContextFraction !== undefined && !(referenceContextFraction >= 0 && referenceContextFraction <= 1)) {
    refuse('referenceContextFraction', referenceContextFraction, 'a number from 0 to 1')
  }
  if (maxReferences !== undefined && !isCount(maxReferences, MAX_REFERENCES)) {
    refuse('maxReferences', maxReferences, `a whole number from 1 to ${MAX_REFERENCES}`)
  }
}

type Results<Tasks extends readonly ((signal: AbortSignal) => Promise<unknown>)[]> = {
  -readonly [Index in keyof Tasks]: Awaited<ReturnType<Tasks[Index]>>
}

/** Runs all tasks at once; the first failure stops the others and is thrown once they have stopped. */
async function allOrFirstFailure<const Tasks extends readonly ((signal: AbortSignal) => Promise<unknown>)[]>(
  signal: AbortSignal | undefined,
  tasks: Tasks,
): Promise<Results<Tasks>> {
  const controller = new AbortController()
  const combined = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
  const outcomes = await Promise.allSettled(
    tasks.map(async (task) => {
      try {
        return await task(combined)
      } catch (error) {
        controller.abort(error)
        throw error
      }
    }),
  )
  if (controller.signal.aborted) throw signal?.aborted ? cancelled(signal.reason) : controller.signal.reason
  return outcomes.map((outcome) => {
    switch (outcome.status) {
      case 'fulfilled':
        return outcome.value
      case 'rejected':
        throw outcome.reason
      default:
        return assertNever(outcome)
    }
  }) as Results<Tasks>
}
