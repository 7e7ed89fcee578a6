// Verifies logs completely: every row parsed, every checksum, every fold rule, every message read, and what locating says of
// their places. Findings are data; nothing is repaired.

import pLimit from 'p-limit'
import { type DecodeOptions, decodeLog, type LogFacts, type LogReader } from '../decode/decode.ts'
import { CountedList } from '../decode/issues.ts'
import { DshRefError } from '../errors.ts'
import { SurfaceReader } from '../fold/surface.ts'
import { olderGenerations } from '../locate/generations.ts'
import { locatePath, sourceOf } from '../locate/locate.ts'
import type { LocatedLog, LocateOptions } from '../locate/located-log.ts'
import { withRivals } from '../locate/rivals.ts'
import { requireRoots } from '../locate/roots.ts'
import { locateAll } from '../locate/scan.ts'
import { titleOf } from '../project/title.ts'
import { briefText } from '../text/json-bytes.ts'
import type {
  CheckedLog,
  CheckedPlace,
  CheckStatus,
  Finding,
  Issue,
  LogOnlyEvent,
  SessionHeader,
  Severity,
  SurfaceEvent,
  SurfaceMessage,
} from '../types.ts'

/** Logs verified at once: the work is the processor's, not the disk's. */
const CONCURRENCY = 2

/** A log that was found, or all that can be said of one that was not. */
export type FoundLog = LocatedLog | CheckedLog

/**
 * Verifies all logs of the roots. Whatever else listing them reports, a place that cannot be read or holds no log where one
 * is due, is a checked place. Throws `READ_FAILED` when not one of the roots can be read, `CANCELLED`.
 */
export async function checkRoots(
  options: LocateOptions,
): Promise<{ logs: readonly CheckedLog[]; places: readonly CheckedPlace[] }> {
  requireRoots(options.roots)
  const issues: Issue[] = []
  const found = await locateAll(options, issues, refusedLog)
  const logs = await checkFound(await withRivalsAmong(found, withRivals), options)
  return { logs, places: issues.map(checkedPlace) }
}

/** Puts logs that were found together through `rivals`, and leaves the others where they are. */
export async function withRivalsAmong(
  found: readonly FoundLog[],
  rivals: (logs: readonly LocatedLog[]) => readonly LocatedLog[] | Promise<readonly LocatedLog[]>,
): Promise<FoundLog[]> {
  const located = (await rivals(found.filter(isLocated))).values()
  return found.map((log) => (isLocated(log) ? (located.next().value ?? log) : log))
}

/** Verifies the logs that were found. */
export async function checkFound(found: readonly FoundLog[], options: DecodeOptions): Promise<CheckedLog[]> {
  const limit = pLimit(CONCURRENCY)
  return Promise.all(found.map((log) => limit(() => (isLocated(log) ? checkLog(log, options) : log))))
}

function isLocated(log: FoundLog): log is LocatedLog {
  return 'header' in log
}

/** What cannot be read is refused, whatever it would have held; anything else is an issue. */
function checkedPlace(issue: Issue): CheckedPlace {
  const path = issue.file ?? ''
  const severity = issue.kind === 'unreadable-entry' ? 'unreadable' : 'issue'
  const findings = [{ ...findingOf(issue), severity, file: path }] as const
  return { path, status: statusOf(findings), findings }
}

/**
 * Verifies the log at `path`, or all that can be said of it when it has no header. Throws `CANCELLED` only.
 *
 * @example
 * const checked = await checkPath(`${root}/--work-shop--/current`, { roots: [] })
 * checked.findings[0].rule // => 'torn-tail'
 */
export async function checkPath(path: string, options: LocateOptions): Promise<CheckedLog> {
  try {
    return await checkLog(await locatePath(path, { ...options, everyRow: true }), options)
  } catch (error) {
    return refusedLog(path, error)
  }
}

/**
 * Verifies a located log.
 *
 * @example
 * const checked = await checkLog(await locateSession('login-fix', { roots: [root] }), {})
 * checked.status // => 'ok'
 * checked.events // => 27
 */
export async function checkLog(log: LocatedLog, options: DecodeOptions): Promise<CheckedLog> {
  const { path, header } = log
  const before = new Findings(path)
  const after = new Findings(path)
  const add: Add = (finding) => before.add(finding)
  for (const issue of log.issues) add(findingOf(issue))
  for (const generation of olderGenerations(path)) {
    add({ severity: 'note', rule: 'older-generation', message: `An older generation lies beside it: ${generation}` })
  }
  let reader: CheckReader | undefined
  let facts: LogFacts | undefined
  try {
    ;({ facts } = await decodeLog(
      sourceOf(log),
      (decoded) => {
        reader = new CheckReader(decoded, path)
        return reader
      },
      { ...options, everyRow: true },
    ))
    for (const issue of facts.issues) after.add(findingOf(issue))
    if (facts.hasOpenTurn) after.add({ severity: 'note', rule: 'open-turn', message: 'The last turn has no end' })
  } catch (error) {
    after.add(refusalFinding(error))
  }
  checkHeaderText(header, (finding) => after.add(finding))
  const findings = [...before.list(), ...(reader?.findings.list() ?? []), ...after.list()]
  return {
    path,
    status: statusOf(findings),
    sessionId: header.id,
    formatVersion: header.version,
    events: facts ? (facts.capturedThroughSeq ?? -1) + 1 : (reader?.events ?? 0),
    rows: facts?.work.rows ?? 0,
    frames: facts?.work.frames ?? 0,
    findings,
  }
}

/** A log that was refused before its header was known; `place` is where it was looked for. */
export function refusedLog(place: string, error: unknown): CheckedLog {
  const file = error instanceof DshRefError ? error.facts.file : undefined
  const path = typeof file === 'string' ? file : place
  const finding = { ...refusalFinding(error), file: path }
  return {
    path,
    status: statusOf([finding]),
    sessionId: null,
    formatVersion: null,
    events: 0,
    rows: 0,
    frames: 0,
    findings: [finding],
  }
}

/** Whether DSH would refuse the log, or the root because of the place, although dsh-ref reads it. */
export function isRefusedByDsh({ findings }: Pick<CheckedLog, 'findings'>): boolean {
  return findings.some(({ severity, rule }) => severity === 'refused-by-dsh' || REFUSED_BY_DSH.has(rule))
}

/** Issues DSH does not survive (FORMAT.md sections 1.2, 2, 3.1, 7.5 and 9). */
const REFUSED_BY_DSH: ReadonlySet<string> = new Set([
  'unknown-event-type',
  'extra-key',
  'retired-key',
  'header-field',
  'envelope-field',
  'message-id',
  'seed-marker',
  'path-mismatch',
  'encoding-mismatch',
  'duplicate-id',
  'legacy-flat-file',
  'unknown-version',
])

type Add = (finding: Omit<Finding, 'file'>) => void

/** One finding for each rule and message, with a count: a million odd rows are one line. */
class Findings {
  readonly #file: string
  readonly #findings = new CountedList<Finding>(({ severity, rule }) => `${severity} ${rule}`)

  constructor(file: string) {
    this.#file = file
  }

  add(finding: Omit<Finding, 'file'>): void {
    this.#findings.add({ ...finding, file: this.#file })
  }

  list(): Finding[] {
    return this.#findings.list()
  }
}

/** Finds what a complete reading of a surface takes in silence. */
class CheckReader implements LogReader<void> {
  events = 0
  readonly findings: Findings
  readonly #reader: SurfaceReader
  readonly #header: SessionHeader
  #turn: number | undefined

  constructor(header: SessionHeader, file: string) {
    this.#header = header
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
    const { message, stream } = data as { message: { source: Record<string, unknown> }; stream?: unknown }
    const { provider, model } = message.source
    if (typeof provider !== 'string' || typeof model !== 'string') {
      this.#refusedByDsh('message-source', 'An assistant/message does not name its provider and model', seq)
    }
    if (this.#header.version >= 2 && this.#header.version <= 4 && !Array.isArray(stream)) {
      this.#refusedByDsh('message-stream', 'An assistant/message has no stream', seq)
    }
  }

  #checkTitle(event: LogOnlyEvent): void {
    const title = titleOf(event.data())
    if (title === undefined) this.#refusedByDsh('title-shape', 'A session/title holds no title', event.seq)
    else if (!title.isWellFormed())
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

function checkHeaderText(header: SessionHeader, add: Add): void {
  for (const field of ['id', 'cwd'] as const) {
    if (header[field]?.isWellFormed() !== false) continue
    add({ severity: 'note', rule: 'lone-surrogate', message: `The header's ${field} holds a lone surrogate`, line: 1 })
  }
}

function findingOf({ kind, message, line, frame, seq, count }: Issue): Omit<Finding, 'file'> {
  return {
    severity: 'issue',
    rule: kind,
    message,
    ...(line !== undefined && { line }),
    ...(frame !== undefined && { frame }),
    ...(seq !== undefined && { seq }),
    ...(count !== undefined && { count }),
  }
}

function refusalFinding(error: unknown): Omit<Finding, 'file'> {
  if (!(error instanceof DshRefError) || error.code !== 'SESSION_REFERENCE_READ_FAILED') throw error
  const { reason } = error
  const { rule, file, line, frame, seq, expected, actual } = error.facts
  const prefix = `${file}: `
  return {
    severity: reason === 'corrupt' || reason === 'unsupported' ? reason : 'unreadable',
    rule: typeof rule === 'string' ? rule : (reason ?? 'unreadable'),
    // The finding names its file beside the message.
    message: error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message,
    ...(typeof line === 'number' && { line }),
    ...(typeof frame === 'number' && { frame }),
    ...(typeof seq === 'number' && { seq }),
    ...(expected !== undefined && { expected }),
    ...(actual !== undefined && { actual }),
  }
}

function statusOf(findings: readonly Pick<Finding, 'severity'>[]): CheckStatus {
  const has = (severity: Severity) => findings.some((finding) => finding.severity === severity)
  if (has('corrupt')) return 'corrupt'
  if (has('unsupported')) return 'unsupported'
  if (has('unreadable')) return 'unreadable'
  return has('issue') || has('refused-by-dsh') ? 'issues' : 'ok'
}
