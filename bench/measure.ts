// Times programs and functions in turns, so that a busy machine slows all of them alike, and asks programs for their memory.

import { spawnSync } from 'node:child_process'

/** Something to be timed: a program by its arguments for Node, or a function. */
export type Work =
  | {
      readonly name: string
      readonly args: readonly string[]
      readonly env?: Readonly<Record<string, string>>
      readonly before?: () => void
    }
  | { readonly name: string; readonly run: () => unknown; readonly before?: () => void }

/** Times of one work, in milliseconds, and the memory of its process. */
export interface Timing {
  readonly name: string
  readonly median: number
  readonly minimum: number
  readonly times: readonly number[]
  /** Largest resident set of the process, MiB; absent for a function. */
  readonly peakMebibytes?: number
}

/** How works are timed. */
export interface MeasureOptions {
  readonly node: string
  readonly runs: number
}

/** Runs each work once to warm up, then all of them in turns; each must end with status 0. */
export async function measure(works: readonly Work[], { node, runs }: MeasureOptions): Promise<Timing[]> {
  const times = works.map((): number[] => [])
  for (let run = -1; run < runs; run++) {
    for (const [index, work] of works.entries()) {
      const time = await timeOf(work, node)
      if (run >= 0) times[index]?.push(time)
    }
  }
  return works.map((work, index): Timing => {
    const taken = times[index] as number[]
    const peak = 'args' in work ? { peakMebibytes: peakOf(work, node) } : {}
    return { name: work.name, median: median(taken), minimum: Math.min(...taken), times: taken, ...peak }
  })
}

/** The ratio of two works timed in turns, and how far apart the middle half of the single ratios lies, in percent. */
export function ratioOf(work: Timing, other: Timing): { ratio: number; spread: number } {
  const ratios = work.times.map((time, run) => time / (other.times[run] as number)).sort((one, two) => one - two)
  const at = (share: number) => ratios[Math.round(share * (ratios.length - 1))] as number
  const ratio = work.median / other.median
  return { ratio, spread: (50 * (at(0.75) - at(0.25))) / ratio }
}

/** The middle of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, two) => one - two)
  return ((sorted[(sorted.length - 1) >> 1] as number) + (sorted[sorted.length >> 1] as number)) / 2
}

async function timeOf(work: Work, node: string): Promise<number> {
  work.before?.()
  const start = performance.now()
  if ('run' in work) await work.run()
  else started(work, node, [])
  return performance.now() - start
}

// A module of the process itself, since nothing else tells the memory of a child that is gone.
const TELL_PEAK = `data:text/javascript,process.on('exit',()=>process._rawDebug('peak '+process.resourceUsage().maxRSS))`

function peakOf(work: Extract<Work, { args: unknown }>, node: string): number {
  work.before?.()
  const stderr = started(work, node, ['--import', TELL_PEAK])
  return Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1024
}

function started(
  { name, args, env }: Extract<Work, { args: unknown }>,
  node: string,
  flags: readonly string[],
): string {
  const { status, stderr, error } = spawnSync(node, [...flags, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    env: { ...process.env, DSH_SESSION_JSONL: '', DSH_REF_ROOT: '', NODE_OPTIONS: '', ...env },
  })
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${error?.message ?? stderr}`)
  return stderr
}
