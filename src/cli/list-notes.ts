// What `list` says on stderr beside its rows: that there are more, that some cannot be spelled, why there are none.

import type { CandidateList } from '../list/candidates.ts'
import { whyNothing } from '../locate/nothing-found.ts'
import type { CommandContext } from './print.ts'

/** What was asked, as far as the notes depend on it. */
export interface Asked {
  readonly roots: readonly string[]
  /** Whether the person said how many rows they want. */
  readonly hasLimit: boolean
  /** Whether anything but the target keeps sessions out. */
  readonly isFiltered: boolean
  readonly origin: 'all' | 'main' | 'subagent' | undefined
}

/** Rows that a format cannot spell: how many, and what they hold. */
export interface LeftOut {
  readonly count: number
  /** For each reason, as `a line break`, how many. */
  readonly reasons: ReadonlyMap<string, number>
  /** The formats that have these rows. */
  readonly elsewhere: string
}

/** Says what a reader of the rows would not know from them. */
export async function printNotes(
  { print, stdout, stderr }: Pick<CommandContext, 'print' | 'stdout' | 'stderr'>,
  found: CandidateList,
  leftOut: LeftOut | undefined,
  asked: Asked,
): Promise<void> {
  const { candidates } = found
  if (candidates.length === 0) return print.note(noneMatches(found, asked))
  if (leftOut) await print.note(saysLeftOut(leftOut, candidates.length))
  const subagents = candidates.filter(({ origin }) => origin === 'subagent').length
  if (stdout.isTerminal && stderr.isTerminal && subagents > 0 && asked.origin !== 'subagent') {
    const are = subagents === 1 ? 'is a sub-agent session' : 'are sub-agent sessions'
    await print.note(`${subagents} of these ${counted(candidates.length)} ${are}; hide with --origin main`)
  }
  const cut = asked.hasLimit ? undefined : saysCut(candidates.length, found)
  if (cut !== undefined) await print.note(cut)
}

/** That the limit left something out; `undefined` when it did not. */
export function saysCut(
  printed: number,
  { omitted, undecided }: Pick<CandidateList, 'omitted' | 'undecided'>,
): string | undefined {
  if (omitted === 0 && undecided === 0) return undefined
  const shown =
    omitted === 0
      ? counted(printed)
      : `${printed} of ${undecided === 0 ? '' : 'at least '}${counted(printed + omitted)}`
  const more = undecided === 0 ? '' : `; ${undecided} more ${undecided === 1 ? 'was' : 'were'} not read and may match`
  return `${shown} listed${more}; see all with --all`
}

/** That a format cannot spell some of the rows. */
export function saysLeftOut({ count, reasons, elsewhere }: LeftOut, listed: number): string {
  const why = [...reasons].map(([reason, times]) => `${times} with ${reason}`).join(', ')
  const has = count === 1 ? 'has it' : 'has them'
  return `${count} of ${counted(listed)} left out, which this format cannot spell (${why}); ${elsewhere} ${has}`
}

function noneMatches({ sessions, readable, issues }: CandidateList, { roots, isFiltered }: Asked): string {
  const why = whyNothing(roots, readable, issues)
  if (why !== undefined) return why.charAt(0).toUpperCase() + why.slice(1)
  if (!isFiltered) return `The only session in ${roots.join(', ')} is the one that receives, which is left out`
  return sessions === 1 ? 'The one session there does not match' : `None of the ${sessions} sessions there matches`
}

function counted(sessions: number): string {
  return `${sessions} session${sessions === 1 ? '' : 's'}`
}
