// Masks what was read of a session before anything is made of it: texts, label, title and directory, each scanned as a whole.
// Ids and URIs stay exact. The scan itself is secrets/; it is loaded when it is asked for, and not with this file.

import { throwIfCancelled } from './errors.ts'
import type { Surface } from './fold/surface.ts'
import { makePause } from './pause.ts'
import type { Redacted } from './secrets/kinds.ts'
import type { SecretScan, SecretScanner } from './secrets/scan.ts'
import type { Degraded, Issue, ProjectedMessage, SessionHeader } from './types.ts'

/** What of a capture is masked. Texts that are only counted cannot be, and are refused. */
export interface RedactSource {
  readonly label: string
  readonly cwd: string | null
  readonly messages: readonly ProjectedMessage[]
  readonly issues: readonly Issue[]
  readonly degraded?: Degraded
}

/** How a capture is masked. */
export interface RedactOptions {
  /** Leave the label: the user wrote it. */
  readonly keepLabel?: boolean | undefined
  /** What masks one text; default: all that docs/secrets.md lists. */
  readonly scanner?: SecretScanner | undefined
  readonly signal?: AbortSignal | undefined
}

/** A masked capture, and what was masked in it. */
export interface RedactedCapture<Source> {
  readonly capture: Source
  readonly redacted: Redacted
}

/**
 * Masks the secrets of a captured conversation, best effort: the whole text of every message, the label and the directory.
 * To be called before `retain`, so that no cut leaves half a secret. Masking what is masked changes nothing. Throws
 * `SCAN_FAILED` when the scan fails, `CANCELLED`.
 *
 * @example
 * const text = 'the token is ghp_' + 'k3vX9bT2nR7cL5wZ8yHq' + 'J4mD6sF1gP0aK7tB'
 * const source = { label: 's', cwd: null, issues: [], messages: [{ seq: 0, role: 'user', text, checkpoint: false }] }
 * const { capture, redacted } = await redact(source)
 * capture.messages[0].text // => 'the token is [redacted:github-token]'
 * redacted // => { total: 1, byKind: { 'github-token': 1 } }
 */
export async function redact<Source extends RedactSource>(
  capture: Source,
  { keepLabel = false, scanner, signal }: RedactOptions = {},
): Promise<RedactedCapture<Source>> {
  const { SecretScan } = await import('./secrets/scan.ts')
  const scan = new SecretScan(scanner)
  const masked: Source = {
    ...capture,
    label: keepLabel ? capture.label : scan.text(capture.label),
    cwd: capture.cwd === null ? null : scan.text(capture.cwd),
    messages: await maskedMessages(capture.messages, scan, signal),
    ...tellings(capture, scan),
  }
  return { capture: masked, redacted: scan.redacted }
}

/** A surface with every text of it masked, those of shadowed messages as well. */
export async function redactSurface<Read extends Surface & { readonly degraded?: Degraded }>(
  surface: Read,
  scan: SecretScan,
  signal?: AbortSignal,
): Promise<Read> {
  const { shadowed, title } = surface
  const hidden = await maskedMessages(
    shadowed.map(({ message }) => message),
    scan,
    signal,
  )
  return {
    ...surface,
    header: maskedHeader(surface.header, scan),
    messages: await maskedMessages(surface.messages, scan, signal),
    shadowed: hidden.map((message, index) => ({ ...shadowed[index], message })),
    title: title === undefined ? undefined : scan.text(title),
    ...tellings(surface, scan),
  }
}

/** Issues with what they tell masked, and not counted: it may quote texts, and names paths. */
export function redactIssues(issues: readonly Issue[], scan: SecretScan): Issue[] {
  return issues.map((issue) => maskedAside(issue, scan))
}

/** Everything in a value of JSON that is a string and no id, masked and not counted: facts of an error, an issue. */
export function maskedAside<Value>(value: Value, scan: SecretScan, key = ''): Value {
  if (typeof value === 'string') return (EXACT.has(key) ? value : scan.aside(value)) as Value
  if (Array.isArray(value)) return value.map((item: unknown) => maskedAside(item, scan, key)) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [scan.aside(name), maskedAside(item, scan, name)]),
  ) as Value
}

/** Fields that lead to a session, and so stay as they are. */
const EXACT: ReadonlySet<string> = new Set(['sessionId', 'id', 'parentSession', 'uri'])

interface Masked {
  readonly seq: number
  readonly text: string
  readonly textBytes?: number
  readonly sourceKind?: string
}

async function maskedMessages<Message extends Masked>(
  messages: readonly Message[],
  scan: SecretScan,
  signal: AbortSignal | undefined,
): Promise<Message[]> {
  const pause = makePause()
  const masked: Message[] = []
  for (const message of messages) {
    await pause()
    throwIfCancelled(signal)
    if (message.textBytes !== undefined) {
      throw new Error(`The text of message ${message.seq} was only counted, so that no secrets can be found in it`)
    }
    const { sourceKind } = message
    masked.push({
      ...message,
      text: scan.text(message.text),
      ...(sourceKind !== undefined && { sourceKind: scan.aside(sourceKind) }),
    })
  }
  return masked
}

/** The strings of a header that are no ids. */
function maskedHeader(header: SessionHeader, scan: SecretScan): SessionHeader {
  const { cwd, origin, agentPreset } = header
  return {
    ...header,
    ...(cwd !== undefined && { cwd: scan.text(cwd) }),
    ...(origin !== undefined && { origin: scan.text(origin) }),
    ...(agentPreset !== undefined && { agentPreset: scan.text(agentPreset) }),
  }
}

/** What is told of a log beside its texts may quote them, and names a path, which may spell the directory of the session. */
function tellings({ issues, degraded }: Pick<RedactSource, 'issues' | 'degraded'>, scan: SecretScan) {
  return {
    issues: redactIssues(issues, scan),
    ...(degraded && { degraded: { ...degraded, reason: scan.aside(degraded.reason) } }),
  }
}
