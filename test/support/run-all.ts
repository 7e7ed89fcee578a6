// Runs many command lines in one other process, that of another user or one under strace: starting a Node for each takes ten
// times as long as what it does. As a program of its own: command lines as JSON on stdin, outcomes as JSON on stdout.

import { dirname } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { execa } from 'execa'
import { type Outcome, type RunOptions, run } from './program.ts'

/** How the process differs from a plain one. */
export interface ProcessOptions {
  readonly uid?: number
  readonly gid?: number
  /** Command that starts the process, with its arguments. */
  readonly wrapper?: readonly string[]
}

/** What the other process is asked for. */
interface Request {
  readonly commandLines: readonly (readonly string[])[]
  readonly options: RunOptions
}

/** Runs each command line in turn, all in one other process. */
export async function runAllInOneProcess(
  commandLines: Request['commandLines'],
  options: RunOptions & { readonly cwd: string },
  { wrapper = [], ...user }: ProcessOptions,
): Promise<Outcome[]> {
  const [command = process.execPath, ...args] = [...wrapper, process.execPath, await builtFile()]
  const request: Request = { commandLines, options }
  const { stdout } = await execa(command, args, { input: JSON.stringify(request), cwd: options.cwd, ...user })
  return JSON.parse(stdout) as Outcome[]
}

let built: Promise<string> | undefined

/** This file as a program, for every Node: made once, where it finds the packages of the project. */
function builtFile(): Promise<string> {
  built ??= (async () => {
    const outfile = fileURLToPath(new URL('../../node_modules/.cache/dsh-ref/run-all.mjs', import.meta.url))
    const main = `import { answerOnStdin } from ${JSON.stringify(fileURLToPath(import.meta.url))}\nawait answerOnStdin()`
    await build({
      stdin: { contents: main, resolveDir: dirname(fileURLToPath(import.meta.url)), loader: 'ts' },
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      outfile,
      logLevel: 'error',
    })
    return outfile
  })()
  return built
}

/** The program of the other process. */
export async function answerOnStdin(): Promise<void> {
  const { commandLines, options } = (await json(process.stdin)) as Request
  const outcomes: Outcome[] = []
  for (const args of commandLines) outcomes.push(await run(args, options))
  process.stdout.write(JSON.stringify(outcomes))
}
