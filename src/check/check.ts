// Verifies logs completely: every row parsed, every checksum, every fold rule, every message read, and what locating says of
// their places. Findings are data; nothing is repaired.

import pLimit from 'p-limit'
import { type DecodeOptions, decodeLog, type LogFacts } from '../decode/decode.ts'
import { DshRefError } from '../errors.ts'
import { olderGenerations } from '../locate/generations.ts'
import { locatePath, sourceOf } from '../locate/locate.ts'
import type { LocatedLog, LocateOptions } from '../locate/located-log.ts'
import { withRivals } from '../locate/rivals.ts'
import { requireRoots } from '../locate/roots.ts'
import { locateAll } from '../locate/scan.ts'
import type { CheckedLog, CheckedPlace, Issue, SessionHeader } from '../types.ts'
import { CheckReader } from './check-reader.ts'
import { Findings, findingOf, refusalFinding, statusOf } from './findings.ts'
import { makeSecretFindings } from './secret-findings.ts'

/** Logs verified at once: the work is the processor's, not the disk's. */
const CONCURRENCY = 2

/** How logs are verified. */
export interface CheckOptions extends DecodeOptions {
  /** Look for secrets as well, in every message, replaced ones and results of tools included. Default: false. */
  readonly secrets?: boolean | undefined
}

/** A log that was found, or all that can be said of one that was not. */
export type FoundLog = LocatedLog | CheckedLog

/**
 * Verifies all logs of the roots. Whatever else listing them reports, a place that cannot be read or holds no log where one
 * is due, is a checked place. Throws `READ_FAILED` when not one of the roots can be read, `CANCELLED`.
 */
export async function checkRoots(
  options: LocateOptions & CheckOptions,
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
export async function checkFound(found: readonly FoundLog[], options: CheckOptions): Promise<CheckedLog[]> {
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
export async function checkPath(path: string, options: LocateOptions & CheckOptions): Promise<CheckedLog> {
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
export async function checkLog(log: LocatedLog, options: CheckOptions): Promise<CheckedLog> {
  const { path, header } = log
  const before = new Findings(path)
  const after = new Findings(path)
  for (const issue of log.issues) before.add(findingOf(issue))
  for (const generation of olderGenerations(path)) {
    before.add({
      severity: 'note',
      rule: 'older-generation',
      message: `An older generation lies beside it: ${generation}`,
    })
  }
  const secrets = options.secrets ? await makeSecretFindings(path) : undefined
  if (header.cwd !== undefined) secrets?.look(header.cwd, { line: 1 }, "The header's cwd")
  let reader: CheckReader | undefined
  let facts: LogFacts | undefined
  try {
    ;({ facts } = await decodeLog(
      sourceOf(log),
      (decoded) => {
        reader = new CheckReader(decoded, path, secrets)
        return reader
      },
      { ...options, everyRow: true },
    ))
    for (const issue of facts.issues) after.add(findingOf(issue))
    if (facts.hasOpenTurn) after.add({ severity: 'note', rule: 'open-turn', message: 'The last turn has no end' })
  } catch (error) {
    after.add(refusalFinding(error))
  }
  checkHeaderText(header, after)
  const findings = [...before.list(), ...(reader?.findings.list() ?? []), ...(secrets?.list() ?? []), ...after.list()]
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

function checkHeaderText(header: SessionHeader, findings: Findings): void {
  for (const field of ['id', 'cwd'] as const) {
    if (header[field]?.isWellFormed() !== false) continue
    findings.add({
      severity: 'note',
      rule: 'lone-surrogate',
      message: `The header's ${field} holds a lone surrogate`,
      line: 1,
    })
  }
}
