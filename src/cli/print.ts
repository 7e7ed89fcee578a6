// What a command may see of the shell it runs in, and its ways out: product, notes, issues, refusals and bugs. The shell
// itself is shell.ts; which command runs, and what its failure means for the status, is main.ts.
import { pipeline, Readable } from 'node:stream'
import { cancelled, type DshRefError, readFailed, throwIfCancelled } from '../errors.ts'
import type { FileIdentity } from '../files/write-guard.ts'
import { describeIssues, reasonOfIssues } from '../render/issues.ts'
import { strictJson } from '../text/json-bytes.ts'
import type { Issue } from '../types.ts'
import type { RunSecrets } from './secrets.ts'
import type { Environment, Shell, Sink, Terminal } from './shell.ts'
import { hearSignals } from './signals.ts'

/** Options that every command takes. */
export interface GlobalOptions {
  /** `--root`, in the order given; what stands in for none is up to `resolveRoots`. */
  readonly root: readonly string[]
  /** Roots of the configuration file, absolute. */
  readonly configuredRoots?: readonly string[] | undefined
  readonly strict: boolean
  readonly quiet: boolean
  readonly color: ColorChoice
}

/** Values of `--color`. */
export type ColorChoice = 'auto' | 'always' | 'never'

/** Values of `--error-format`. */
export type ErrorFormat = 'text' | 'json'

/** A command's own options under commander's names, not validated: strings, arrays of strings, `true`. */
export type CommandOptions = Readonly<Record<string, unknown>>

/** What a command module exports for each of its commands; a failure is thrown. */
export type CommandBody = (context: CommandContext, args: readonly string[], options: CommandOptions) => Promise<void>

/** All that a command knows of the shell it runs in. */
export interface CommandContext {
  readonly print: Print
  readonly stdin: Input
  readonly stdout: OutputTraits
  readonly stderr: OutputTraits
  /** With what the configuration file sets and no variable does. */
  readonly env: Environment
  /** Without it. */
  readonly shellEnv: Environment
  readonly cwd: string
  readonly home: string
  readonly globals: GlobalOptions
  /** `undefined` when stdin or stderr is no terminal. */
  readonly terminal?: () => Terminal | undefined
  /** Fires when SIGINT or SIGTERM is heard (signals.ts). */
  readonly signal: AbortSignal
  /** Set when secrets are to be masked or refused. */
  readonly secrets?: RunSecrets | undefined
}

/** Standard input. */
export interface Input {
  readonly isTerminal: boolean
  /** What it is when it is a regular file. */
  readonly file?: () => FileIdentity | undefined
  /** The bytes as they arrive; refuses with `CANCELLED` when the signal fires, with `READ_FAILED` when they cannot be read. */
  chunks(): AsyncIterable<Uint8Array>
}

/** What rendering must know of an output. */
export interface OutputTraits {
  readonly isTerminal: boolean
  readonly hasColor: boolean
  /** Width of the terminal; `undefined` when it is none. */
  readonly columns: number | undefined
}

/** The ways out of a command. */
export interface Print {
  /** Writes the product to stdout as it is; resolves when it has left the process. Refuses once the signal has fired. */
  out(product: string | Uint8Array): Promise<void>
  /** Writes a value to stdout as one line of JSON that every parser takes: half a surrogate pair becomes U+FFFD. */
  json(value: unknown): Promise<void>
  /** Writes values to stdout as exact JSON, one a line; `null` is no value to the stream behind it. */
  jsonLines(values: Iterable<NonNullable<unknown>>): Promise<void>
  /** Writes one line to stderr; nothing with `--quiet`. */
  note(message: string): Promise<void>
  /** Writes text to stderr that was asked for beside the product, with `--quiet` too. */
  aside(text: string): Promise<void>
  /** Writes one counted line on stderr about what was survived; nothing with `--quiet`. */
  issues(issues: readonly Issue[]): Promise<void>
  /** With `--strict`, refuses when there is any issue. To be called before the first `out`. */
  refuseIfStrict(issues: readonly Issue[]): void
  /** Sets the exit status of a command that did its work and has to answer no, as grep without a match. */
  answer(status: number): void
  /** What `answer` was given; 0 without. */
  readonly status: number
  /** Whether anything has gone to stdout. */
  readonly hasPrinted: boolean
}

/** Thrown by `Print.out` when nobody reads stdout any more (`| head`): the end of the work, not a failure. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed'
}

/** JSON lines are gathered to about this many characters a write. */
const BATCH_LENGTH = 65536

/** Makes the context of a command. `env` is the environment of the shell, with what the configuration file adds. */
export function openContext(
  shell: Shell,
  globals: GlobalOptions,
  signal: AbortSignal,
  env: Environment,
  secrets?: RunSecrets,
): CommandContext {
  const stdout = outputTraits(shell, 'stdout', globals.color)
  return {
    print: createPrint({
      stdout: shell.stdout,
      stdoutIsTerminal: stdout.isTerminal,
      stderr: shell.stderr,
      globals,
      signal,
      mask: secrets?.mask,
    }),
    stdin: {
      get isTerminal() {
        return shell.stdin.isTerminal
      },
      file: () => shell.stdin.file?.(),
      chunks: () => shell.stdin.chunks(signal),
    },
    stdout,
    stderr: outputTraits(shell, 'stderr', globals.color),
    env,
    shellEnv: shell.env,
    get cwd() {
      return shell.cwd()
    },
    get home() {
      return shell.home()
    },
    globals,
    terminal: () => shell.terminal(),
    signal,
    secrets,
  }
}

/** Waits for something, and refuses with `CANCELLED` as soon as the signal fires. Leaves no listener behind. */
async function untilAborted<Result>(awaited: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let abort: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(cancelled(signal.reason))
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([awaited, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Makes a command's ways out. A terminal as stdout gets control characters in JSON as escapes. */
export function createPrint(to: {
  readonly stdout: Sink
  readonly stdoutIsTerminal: boolean
  readonly stderr: Sink
  readonly globals: Pick<GlobalOptions, 'strict' | 'quiet'>
  readonly signal: AbortSignal
  /** What masks a line for stderr. */
  readonly mask?: ((line: string) => string) | undefined
}): Print {
  const { stdout, stdoutIsTerminal, stderr, globals, signal, mask = (line) => line } = to
  let hasPrinted = false
  let status = 0

  async function out(product: string | Uint8Array): Promise<void> {
    throwIfCancelled(signal)
    if (product.length === 0) return
    hasPrinted = true
    const bytes = typeof product === 'string' ? Buffer.from(product) : product
    // A reader that has stopped reading must not keep a cancelled command waiting.
    const write = () => untilAborted(stdout.write(bytes).catch(throwStdoutFailure), signal)
    await (stdout.isWaiting ? hearSignals(write) : write())
  }

  async function json(value: unknown): Promise<void> {
    const line = strictJson(value)
    await out(`${stdoutIsTerminal ? await makeVisible(line) : line}\n`)
  }

  async function jsonLines(values: Iterable<NonNullable<unknown>>): Promise<void> {
    const { default: ndjson } = await import('ndjson')
    const lines = ndjson.stringify()
    // A failure destroys `lines`, and so comes out of the loop.
    pipeline(Readable.from(values), lines, () => undefined)
    let batch = ''
    for await (const line of lines) {
      batch += stdoutIsTerminal ? `${await makeVisible(line.trimEnd())}\n` : line
      if (batch.length < BATCH_LENGTH) continue
      await out(batch)
      batch = ''
    }
    await out(batch)
  }

  async function note(message: string): Promise<void> {
    if (!globals.quiet) await writeStderr(stderr, `dsh-ref: ${await makeVisible(mask(message))}\n`)
  }

  return {
    out,
    json,
    jsonLines,
    note,
    aside: (text) => writeStderr(stderr, text),
    async issues(issues) {
      if (issues.length > 0) await note(describeIssues(issues))
    },
    refuseIfStrict(issues) {
      const reason = reasonOfIssues(issues)
      if (!globals.strict || reason === undefined) return
      throw readFailed(reason, `With --strict nothing is printed: ${describeIssues(issues)}`, {
        issues,
      })
    },
    answer(answered) {
      status = answered
    },
    get status() {
      return status
    },
    get hasPrinted() {
      return hasPrinted
    },
  }
}

/** Writes text to stdout or stderr outside a command: help, version, usage. */
export async function printText(shell: Shell, to: 'stdout' | 'stderr', text: string): Promise<void> {
  if (text === '') return
  if (to === 'stderr') return writeStderr(shell.stderr, text)
  await shell.stdout.write(Buffer.from(text)).catch(throwStdoutFailure)
}

/** Writes a refusal to stderr: one line for a person, or one line of JSON. */
export async function printRefusal(shell: Shell, error: DshRefError, format: ErrorFormat): Promise<void> {
  const { code, message, facts } = error
  if (format === 'text') return printText(shell, 'stderr', `dsh-ref: ${await makeVisible(message)} [${code}]\n`)
  const head = { code, ...(error.reason === undefined ? {} : { reason: error.reason }), message }
  // The second time for the values: a fact named like one of them must not replace it.
  await printJsonError(shell, { ...head, ...facts, ...head })
}

/** Writes a bug to stderr: its stack, and how to report it. */
export async function printBug(shell: Shell, error: unknown, format: ErrorFormat, version: string): Promise<void> {
  const stack = error instanceof Error ? (error.stack ?? String(error)) : `Thrown value: ${String(error)}`
  if (format === 'json') {
    const message = error instanceof Error ? error.message : String(error)
    return printJsonError(shell, { code: 'BUG', message, stack, version })
  }
  const lines = await Promise.all(stack.split('\n').map(makeVisible))
  const platform = `Node ${process.version}, ${process.platform} ${process.arch}`
  await printText(
    shell,
    'stderr',
    `dsh-ref: This is a bug in dsh-ref, not in your input\n${lines.join('\n')}\n` +
      `Please report the lines above with the command you ran, and this: ${version}; ${platform}.\n` +
      'Look through them first: they may quote text of a session.\n',
  )
}

// Loaded late: a command that succeeds in a pipe never needs it.
async function makeVisible(text: string): Promise<string> {
  const { visible } = await import('../render/visible.ts')
  return visible(text)
}

async function printJsonError(shell: Shell, error: Readonly<Record<string, unknown>>): Promise<void> {
  await printText(shell, 'stderr', `${await makeVisible(strictJson({ error }))}\n`)
}

async function writeStderr(stderr: Sink, text: string): Promise<void> {
  try {
    await stderr.write(Buffer.from(text))
  } catch {
    // A stderr that is closed or full leaves nowhere to say so, and the product may still be whole.
  }
}

function throwStdoutFailure(cause: unknown): never {
  const { code, message } = cause as NodeJS.ErrnoException
  // Windows says EOF; every write after the first failed one finds the stream destroyed.
  if (code === 'EPIPE' || code === 'EOF' || code === 'ERR_STREAM_DESTROYED') throw new OutputClosed()
  if (code === undefined) throw cause
  throw readFailed(
    'unreadable',
    `Cannot write to standard output (${message}); the output is not complete`,
    { file: '/dev/stdout', errno: code },
    { cause },
  )
}

/** Width of the terminal that stdout or stderr is; `undefined` when neither is one. */
export function terminalColumns({ stdout, stderr }: Shell): number | undefined {
  return stdout.columns ?? stderr.columns
}

function outputTraits(shell: Shell, name: 'stdout' | 'stderr', choice: ColorChoice): OutputTraits {
  const { isTerminal, columns } = shell[name]
  return { isTerminal, hasColor: hasColor(choice, shell.env, isTerminal), columns }
}

/** Whether an output gets colour: `--color`, then FORCE_COLOR, then NO_COLOR and TERM=dumb, then whether it is a terminal. */
export function hasColor(choice: ColorChoice, env: Environment, isTerminal: boolean): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false
  return isTerminal && env.TERM !== 'dumb'
}
