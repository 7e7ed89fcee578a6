// Refusals: the one error class callers route on, its codes, and the exit status of each code. Issues are in types.ts.

/** Stable codes of a refusal. */
export type DshRefErrorCode =
  | 'SESSION_REFERENCE_INVALID_CONFIG'
  | 'SESSION_REFERENCE_INVALID_REFERENCE'
  | 'SESSION_REFERENCE_SELF_REFERENCE'
  | 'SESSION_REFERENCE_TOO_MANY'
  | 'SESSION_REFERENCE_READ_FAILED'
  | 'SESSION_REFERENCE_BUDGET_EXCEEDED'
  | 'SESSION_REFERENCE_SECRETS_FOUND'
  | 'SESSION_REFERENCE_SCAN_FAILED'
  | 'SESSION_REFERENCE_CANCELLED'

/** Why a source could not be read. `unsupported` is intact but not understood; `corrupt` is damaged. */
export type ReadFailedReason = 'not-found' | 'ambiguous' | 'unreadable' | 'unsupported' | 'corrupt'

/** Facts beside the message; every value is JSON. */
export type ErrorFacts = Readonly<Record<string, unknown>>

/** Exit status of each code. A new code does not compile without one. */
export const EXIT_STATUS: Readonly<Record<DshRefErrorCode, number>> = {
  SESSION_REFERENCE_INVALID_CONFIG: 2,
  SESSION_REFERENCE_INVALID_REFERENCE: 3,
  SESSION_REFERENCE_SELF_REFERENCE: 3,
  SESSION_REFERENCE_TOO_MANY: 3,
  SESSION_REFERENCE_READ_FAILED: 4,
  SESSION_REFERENCE_BUDGET_EXCEEDED: 5,
  SESSION_REFERENCE_SECRETS_FOUND: 6,
  SESSION_REFERENCE_SCAN_FAILED: 6,
  SESSION_REFERENCE_CANCELLED: 130,
}

/** A refusal: something the caller can act on, never a bug. */
export class DshRefError extends Error {
  override readonly name = 'DshRefError'
  readonly code: DshRefErrorCode
  readonly facts: ErrorFacts

  constructor(code: DshRefErrorCode, message: string, facts: ErrorFacts = {}, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    this.facts = facts
  }

  /** Set on `SESSION_REFERENCE_READ_FAILED` only. */
  get reason(): ReadFailedReason | undefined {
    return this.facts.reason as ReadFailedReason | undefined
  }
}

/** A source that cannot be read. `facts` name the file, line or frame, seq, rule, expected and actual where known. */
export function readFailed(
  reason: ReadFailedReason,
  message: string,
  facts: ErrorFacts = {},
  options?: { cause?: unknown },
): DshRefError {
  return new DshRefError('SESSION_REFERENCE_READ_FAILED', message, { reason, ...facts }, options)
}

/** Whether an error says that a source cannot be read. */
export function isReadFailure(error: unknown): error is DshRefError {
  return error instanceof DshRefError && error.code === 'SESSION_REFERENCE_READ_FAILED'
}

/** Options or environment that make no sense. */
export function invalidConfig(message: string, facts: ErrorFacts = {}): DshRefError {
  return new DshRefError('SESSION_REFERENCE_INVALID_CONFIG', message, facts)
}

/** A reference, mention or URI that names no session. */
export function invalidReference(message: string, facts: ErrorFacts = {}): DshRefError {
  return new DshRefError('SESSION_REFERENCE_INVALID_REFERENCE', message, facts)
}

/** The caller's signal fired. */
export function cancelled(cause?: unknown): DshRefError {
  return new DshRefError('SESSION_REFERENCE_CANCELLED', 'Cancelled; nothing was printed', {}, { cause })
}

/** Throws the cancellation refusal when the signal has fired. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancelled(signal.reason)
}

/** Marks code that no value of a closed union reaches; reaching it is a bug. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${String(value)}`)
}

/** A file the system does not let us read. */
export function unreadable(path: string, cause: unknown): DshRefError {
  const errno = (cause as NodeJS.ErrnoException).code ?? 'unknown'
  const words = ERRNO_WORDS[errno] ?? `cannot be read (${errno})`
  return readFailed(
    errno === 'ENOENT' ? 'not-found' : 'unreadable',
    `${path} ${words}`,
    { file: path, errno },
    { cause },
  )
}

const ERRNO_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by this user (EACCES)',
  EPERM: 'may not be read by this user (EPERM)',
  EISDIR: 'is a directory, not a session log',
  ELOOP: 'is a link that leads in a circle (ELOOP)',
  ENOTDIR: 'lies below something that is no directory (ENOTDIR)',
  ENAMETOOLONG: 'has too long a name (ENAMETOOLONG)',
}

/** Whether a failure is a refusal or the system's, as a full disk is, and no bug. */
export function isOfSystem(error: unknown): boolean {
  return error instanceof DshRefError || (error as NodeJS.ErrnoException).code !== undefined
}
