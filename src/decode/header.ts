// The first row of a log (FORMAT.md section 2): version before shape, wrong types refuse, odd values are issues. Which key of
// a refused header is wrong is said by shapes.ts.

import { readFailed } from '../errors.ts'
import { briefText } from '../json-bytes.ts'
import { type Issue, NEWEST_FORMAT_VERSION, type SessionHeader } from '../types.ts'
import { IssueLog } from './issues.ts'
import { ShapeDoubt } from './shape-doubt.ts'

type Json = Record<string, unknown>

/** Fields that decide what the log is and where it stands: a wrong one refuses the log. */
const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => value === 'session',
  version: isCount,
  id: isString,
  createdAt: isCount,
  cwd: (value) => value === undefined || isString(value),
}

/** Fields that change neither surface nor text: a wrong one is left out and reported. */
const SIDE_FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  parentSession: isString,
  seedLength: isCount,
  isSeeded: (value) => typeof value === 'boolean',
  origin: isString,
  delegationDepth: isCount,
  agentPreset: isString,
}

const FIELD_CHECKS = Object.entries(FIELDS)
const SIDE_FIELD_CHECKS = Object.entries(SIDE_FIELDS)

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

/** The same rule as the schema in shapes.ts; a test holds the two against each other. */
function isHeader(stored: unknown): stored is Json & Pick<SessionHeader, 'version' | 'id' | 'createdAt' | 'cwd'> {
  return isRecord(stored) && FIELD_CHECKS.every(([key, isRight]) => isRight(stored[key]))
}

function withSideFields(row: Json & Pick<SessionHeader, 'version' | 'id' | 'createdAt' | 'cwd'>): DecodedHeader {
  const { version, id, createdAt, cwd } = row
  const fields: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [key, isRight] of SIDE_FIELD_CHECKS) {
    if (row[key] === undefined || key === (version < 2 ? 'isSeeded' : 'seedLength')) continue
    if (isRight(row[key])) fields[key] = row[key]
    else wrong.push(key)
  }
  const header: SessionHeader = { version, id, createdAt, ...(cwd !== undefined && { cwd }), ...fields }
  return { header, issues: oddities(header, Object.keys(row), wrong) }
}

function versionOf(stored: unknown): number | undefined {
  if (!isRecord(stored)) return undefined
  const { type, version } = stored
  return type === 'session' && Number.isSafeInteger(version) ? (version as number) : undefined
}

function oddities(header: SessionHeader, keys: readonly string[], wrong: readonly string[]): Issue[] {
  const issues = new IssueLog()
  const odd = (kind: Issue['kind'], message: string) => issues.add({ kind, message, line: 1 })
  if (header.version > NEWEST_FORMAT_VERSION) {
    odd('unknown-version', `Format version ${header.version} is read by shape; nothing is known about its rules`)
  }
  for (const key of keys) {
    if (RETIRED_KEYS.has(key)) odd('retired-key', `The header has the retired key ${key}`)
    else if (!Object.hasOwn(FIELDS, key) && !Object.hasOwn(SIDE_FIELDS, key))
      odd('extra-key', `The header has an unknown key ${JSON.stringify(briefText(key))}`)
  }
  for (const key of wrong) odd('header-field', `The header has a wrong ${key}`)
  if (!keys.includes('delegationDepth')) odd('header-field', 'The header has no delegationDepth')
  if (header.cwd !== undefined && !isAbsolutePath(header.cwd))
    odd('header-field', 'The header cwd is not an absolute path')
  if (header.origin !== undefined && header.origin !== 'subagent')
    odd('header-field', 'The header has an unknown origin')
  const foreign = header.version < 2 ? 'isSeeded' : 'seedLength'
  if (keys.includes(foreign))
    odd('extra-key', `The header has ${foreign}, which format version ${header.version} does not`)
  if (header.version >= 2 && !keys.includes('isSeeded')) odd('header-field', 'The header has no isSeeded')
  return issues.list(undefined)
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
