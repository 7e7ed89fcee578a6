// Names on disk (FORMAT.md section 1): how a session id and a cwd become directory names, and what a log file is called.

/** A canonical log file name. */
export interface LogName {
  readonly version: number
  readonly encoding: 'raw' | 'zstd'
}

const LOG_NAME = /^session(?:\.v([1-9][0-9]*))?\.jsonl(\.zstd)?$/

/** Reads a canonical log file name; `undefined` for every other name (FORMAT.md section 1.3). */
export function parseLogName(name: string): LogName | undefined {
  const match = LOG_NAME.exec(name)
  if (!match) return undefined
  const version = match[1] === undefined ? 0 : Number(match[1])
  return Number.isSafeInteger(version) ? { version, encoding: match[2] ? 'zstd' : 'raw' } : undefined
}

/** The directory name of a session id (FORMAT.md section 1.2); injective, never decoded by this tool. */
export function sessionSegment(id: string): string {
  if (id === '.' || id === '..') return id.replaceAll('.', '~002E')
  return escapeUnits(id)
}

/** The directory name of a cwd, or of none (FORMAT.md section 1.2); several cwds may share one. */
export function projectSegment(cwd: string | undefined): string {
  if (cwd === undefined) return '_no-cwd'
  const slug = escapeUnits(cwd.replace(/[/\\:]+/g, '-')).replace(/^-+/, '')
  return `--${(slug === '' ? 'root' : slug).slice(0, 251)}--`
}

const PLAIN = /^[A-Za-z0-9._-]*$/

function escapeUnits(text: string): string {
  if (PLAIN.test(text)) return text
  let escaped = ''
  for (let index = 0; index < text.length; index++) {
    const unit = text.charAt(index)
    escaped += /[A-Za-z0-9._-]/.test(unit) ? unit : `~${hex4(text.charCodeAt(index))}`
  }
  return escaped
}

function hex4(unit: number): string {
  return unit.toString(16).toUpperCase().padStart(4, '0')
}
