// The border to the shell: all that the program takes from outside and gives back, as an interface that a test can stand in
// for, and its one implementation over the process, the only place that touches stdin, stdout, stderr and the exit status.
import { fstatSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { addAbortSignal, type Readable, type Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { invalidConfig, readFailed, throwIfCancelled } from '../errors.ts'
import type { FileIdentity } from '../files/write-guard.ts'
import { hearSignalsWhileWaiting } from './signals.ts'

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What a program is run in. */
export interface Shell {
  readonly env: Environment
  readonly stdin: ShellInput
  readonly stdout: ShellOutput
  readonly stderr: ShellOutput
  /** The current directory; refuses when it is gone. */
  cwd(): string
  /** The home directory; throws when the person has none. */
  home(): string
  /** `undefined` when stdin or stderr is no terminal. */
  terminal(): Terminal | undefined
}

/** Standard input. */
export interface ShellInput {
  readonly isTerminal: boolean
  /** What it is when it is a regular file. */
  readonly file?: () => FileIdentity | undefined
  /** The bytes as they arrive; refuses with `CANCELLED` when the signal fires, with `READ_FAILED` when they cannot be read. */
  chunks(signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** Where bytes go: a file descriptor of the process, or a test's memory. */
export interface Sink {
  write(bytes: Uint8Array): Promise<void>
  /** Whether a write waits for its reader, and so leaves the process to hear signals. */
  readonly isWaiting?: boolean
}

/** Standard output or standard error. */
export interface ShellOutput extends Sink {
  readonly isTerminal: boolean
  /** Width of the terminal; `undefined` when it is none. */
  readonly columns: number | undefined
}

/** A terminal to ask a person in: keys from stdin, the screen on stderr. */
export interface Terminal {
  readonly input: Readable
  readonly output: Writable & { readonly columns?: number }
}

/** The process as the shell of a program. */
export const PROCESS: Shell = {
  env: process.env,
  stdin: {
    get isTerminal() {
      return isatty(0)
    },
    file() {
      const state = fstatSync(0, { bigint: true })
      return state.isFile() ? state : undefined
    },
    chunks: stdinChunks,
  },
  stdout: outputOf(1),
  stderr: outputOf(2),
  cwd() {
    try {
      return process.cwd()
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
      throw invalidConfig('The current directory is gone; change to one that exists, or give absolute paths')
    }
  },
  home: homedir,
  terminal: () => (isatty(0) && isatty(2) ? { input: process.stdin, output: process.stderr } : undefined),
}

/** Sets the exit status; the process ends when its work is done and its output has drained. */
export function setExitStatus(status: number): void {
  process.exitCode = status
}

function outputOf(fd: 1 | 2): ShellOutput {
  let sink: Sink | undefined
  return {
    get isTerminal() {
      return isatty(fd)
    },
    get columns() {
      return isatty(fd) ? streamOf(fd).columns : undefined
    },
    get isWaiting() {
      sink ??= openSink(fd)
      return sink.isWaiting ?? false
    },
    async write(bytes) {
      sink ??= openSink(fd)
      await sink.write(bytes)
    },
  }
}

function streamOf(fd: 1 | 2): NodeJS.WriteStream {
  return fd === 1 ? process.stdout : process.stderr
}

function openSink(fd: 1 | 2): Sink {
  const stats = fstatSync(fd)
  if (!stats.isFIFO() && !stats.isSocket() && !isatty(fd)) return fileSink(fd)
  const stream = streamOf(fd)
  // The callback of each write gets the failure; without a listener the same failure would also end the process.
  if (stream.listenerCount('error') === 0) stream.on('error', () => undefined)
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stream.write(bytes, (error) => (error == null ? resolve() : reject(error)))
      }),
    // Writing to a terminal is one call that lasts as long as the terminal likes.
    isWaiting: !isatty(fd),
  }
}

// Node's own stream for files takes a short write for a whole one: on a disk that fills up it loses the rest in silence.
function fileSink(fd: number): Sink {
  return {
    async write(bytes) {
      let written = 0
      while (written < bytes.length) written += writeSync(fd, bytes, written)
    },
  }
}

async function* stdinChunks(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  // Node reads a directory as an empty stream.
  if (fstatSync(0).isDirectory()) {
    throw readFailed('unreadable', 'Cannot read standard input (it is a directory)', {
      file: '/dev/stdin',
      errno: 'EISDIR',
    })
  }
  const pieces = addAbortSignal(signal, process.stdin)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await hearSignalsWhileWaiting(pieces.next())
      throwIfCancelled(signal)
      if (done) return
      yield value
    }
  } catch (cause) {
    throwIfCancelled(signal)
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === undefined) throw cause
    throw readFailed(
      'unreadable',
      `Cannot read standard input (${message})`,
      { file: '/dev/stdin', errno: code },
      { cause },
    )
  } finally {
    await pieces.return?.()
  }
}
