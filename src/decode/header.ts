// The first row of a log (FORMAT.md section 2): version before shape, wrong types refuse, odd values are issues. Which key of
// a refused header is wrong is said by shapes.ts.

import { readFailed } from '../errors.ts'
import { briefText } from '../json-bytes.ts'
import { type Issue, NEWEST_FORMAT_VERSION, type SessionHeader } from '../types.ts'
import { IssueLog } from './issues.ts'
import { ShapeDoubt } from './shape-doubt.ts'

type Json = Record<string, unknown>

/** Fields that change neither surface nor text: a wrong one is left out and reported. */
const SIDE_FIELDS: readonly { readonly key: string; readonly isRight: (value: unknown) => boolean }[] = [
  { key: 'parentSession', isRight: isString },
  { key: 'seedLength', isRight: isCount },
  { key: 'isSeeded', isRight: (value) => typeof value === 'boolean' },
  { key: 'origin', isRight: isString },
  { key: 'delegationDepth', isRight: isCount },
  { key: 'agentPreset', isRight: isString },
]

const KNOWN_KEYS = new Set(['type', 'version', 'id', 'createdAt', 'cwd', ...SIDE_FIELDS.map(({ key }) => key)])

const RETIRED_KEYS = new Set(['sandboxMode', 'approvalPolicy'])

/** A header and what is odd about it. */
export interface DecodedHeader {
  readonly header: SessionHeader
  readonly issues: readonly Issue[]
}

/**
 * Decodes the header row. Throws `READ_FAILED`: `corrupt` when it is no header, `unsupported` when its version is newer
 * than this build reads and `allowUnknownVersion` is false.
 */
export function decodeHeader(row: string, options: { allowUnknownVersion: boolean }): DecodedHeader {
  let stored: unknown
  try {
    stored = JSON.parse(row)
  } catch (cause) {
    throw readFailed(
      'corrupt',
      'The first row is not JSON, so this is no session log',
      { rule: 'header', line: 1 },
      { cause },
    )
  }
  const version = versionOf(stored)
  if (version !== undefined && version > NEWEST_FORMAT_VERSION && !options.allowUnknownVersion) {
    throw readFailed(
      'unsupported',
      `The log has format version ${version}; this build reads versions 0 to ${NEWEST_FORMAT_VERSION}. ` +
        'Use a newer dsh-ref, or --allow-unknown-version to read it by shape',
      { rule: 'unknown-version', formatVersion: version },
    )
  }
  if (!isHeader(stored)) {
    throw readFailed(
      'corrupt',
      'The first row is not a session header',
      { rule: 'header', line: 1 },
      { cause: new ShapeDoubt('header', stored, version ?? 0) },
    )
  }
  return withSideFields(stored)
}

/** What decides what the log is and where it stands. The same rule as the schema in shapes.ts, which a test holds it against. */
function isHeader(stored: unknown): stored is Json & Pick<SessionHeader, 'version' | 'id' | 'createdAt' | 'cwd'> {
  if (!isRecord(stored)) return false
  const { type, version, id, createdAt, cwd } = stored
  return (
    type === 'session' && isCount(version) && isString(id) && isCount(createdAt) && (cwd === undefined || isString(cwd))
  )
}

function withSideFields(row: Json & Pick<SessionHeader, 'version' | 'id' | 'createdAt' | 'cwd'>): DecodedHeader {
  const { version, id, createdAt, cwd } = row
  const header: { -readonly [Key in keyof SessionHeader]: SessionHeader[Key] } & Json = { version, id, createdAt }
  if (cwd !== undefined) header.cwd = cwd
  const wrong: string[] = []
  const foreign = foreignKeyOf(version)
  for (const { key, isRight } of SIDE_FIELDS) {
    const value = row[key]
    if (value === undefined || key === foreign) continue
    if (isRight(value)) header[key] = value
    else wrong.push(key)
  }
  return { header, issues: oddities(header, row, wrong) }
}

/** The key for the inherited part that a version does not have. */
function foreignKeyOf(version: number): 'isSeeded' | 'seedLength' {
  return version < 2 ? 'isSeeded' : 'seedLength'
}

function versionOf(stored: unknown): number | undefined {
  if (!isRecord(stored)) return undefined
  const { type, version } = stored
  return type === 'session' && Number.isSafeInteger(version) ? (version as number) : undefined
}

function oddities(header: SessionHeader, row: Json, wrong: readonly string[]): Issue[] {
  const issues: Issue[] = []
  const odd = (kind: Issue['kind'], message: string) => issues.push({ kind, message, line: 1 })
  if (header.version > NEWEST_FORMAT_VERSION) {
    odd('unknown-version', `Format version ${header.version} is read by shape; nothing is known about its rules`)
  }
  // JSON.parse gives own properties only.
  for (const key in row) {
    if (KNOWN_KEYS.has(key)) continue
    if (RETIRED_KEYS.has(key)) odd('retired-key', `The header has the retired key ${key}`)
    else odd('extra-key', `The header has an unknown key ${JSON.stringify(briefText(key))}`)
  }
  for (const key of wrong) odd('header-field', `The header has a wrong ${key}`)
  if (row.delegationDepth === undefined) odd('header-field', 'The header has no delegationDepth')
  if (header.cwd !== undefined && !isAbsolutePath(header.cwd))
    odd('header-field', 'The header cwd is not an absolute path')
  if (header.origin !== undefined && header.origin !== 'subagent')
    odd('header-field', 'The header has an unknown origin')
  const foreign = foreignKeyOf(header.version)
  if (row[foreign] !== undefined)
    odd('extra-key', `The header has ${foreign}, which format version ${header.version} does not`)
  if (header.version >= 2 && row.isSeeded === undefined) odd('header-field', 'The header has no isSeeded')
  return issues.length === 0 ? issues : new IssueLog(issues).list(undefined)
}

/** Absolute on either family of systems: the log may come from another machine. */
function isAbsolutePath(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0)
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
