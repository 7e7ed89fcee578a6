// The options by which commands choose sessions: those of `list`, which `search` has as well. What they mean for a session is
// candidates.ts.

import type { ListOptions } from '../list/list-options.ts'
import { spellingsOf } from './directories.ts'
import { integer, type OptionType, oneOf, optionsOf, text } from './options.ts'
import type { CommandContext, CommandOptions } from './print.ts'
import { refuseInverted } from './time-range.ts'

/** What was chosen by. */
export interface Filters {
  /** The argument of `--target`. */
  readonly target: string | undefined
  readonly listed: Pick<
    ListOptions,
    | 'cwds'
    | 'since'
    | 'until'
    | 'activeSince'
    | 'activeUntil'
    | 'origin'
    | 'archived'
    | 'formatVersion'
    | 'health'
    | 'limit'
  >
  /** Whether the person said how many rows they want. */
  readonly hasLimit: boolean
  /** Whether anything but the target keeps sessions out. */
  readonly isFiltered: boolean
}

/** Checks the options that choose sessions. */
export function filtersOf(context: CommandContext, options: CommandOptions, now: number): Filters {
  const given = optionsOf(options, {
    target: text(),
    limit: integer({ min: 1 }),
    cwd: text(),
    since: moment(now, 'start'),
    until: moment(now, 'end'),
    activeSince: moment(now, 'start'),
    activeUntil: moment(now, 'end'),
    origin: oneOf(['all', 'main', 'subagent']),
    archived: oneOf(['show', 'hide', 'only']),
    version: integer({ min: 0 }),
    health: oneOf(['ok', 'torn', 'corrupt', 'unsupported', 'unread']),
  })
  refuseInverted(
    { option: '--since', given: options.since, time: given.since },
    { option: '--until', given: options.until, time: given.until },
  )
  refuseInverted(
    { option: '--active-since', given: options.activeSince, time: given.activeSince },
    { option: '--active-until', given: options.activeUntil, time: given.activeUntil },
  )
  const { target, limit, cwd, version, ...others } = given
  return {
    target,
    listed: {
      ...others,
      limit: options.all === true ? Number.POSITIVE_INFINITY : limit,
      cwds: cwd === undefined ? undefined : spellingsOf(cwd, context),
      formatVersion: version,
    },
    hasLimit: limit !== undefined,
    isFiltered: [cwd, version, ...Object.values(others)].some((filter) => filter !== undefined),
  }
}

/**
 * A moment: an ISO date or time, or an age such as `2d`. A date alone is that whole day in the reader's time zone, its
 * first or last millisecond being the moment.
 */
export function moment(now: number, edge: 'start' | 'end'): OptionType<number> {
  return {
    allowed: 'an ISO date or time (2026-11-30, 2026-11-30T08:00), or an age (30m, 3h, 2d, 1w)',
    read: (text) => timeOf(text, now, edge),
  }
}

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

function timeOf(value: string, now: number, edge: 'start' | 'end'): number | undefined {
  const age = /^(\d+)([mhdw])$/.exec(value)
  if (age) return now - Number(age[1]) * (UNIT_MILLISECONDS[age[2] as string] as number)
  const day = /^(\d{4})-(\d{2})-(\d{2})$/.exec(value)
  if (day) {
    const [year, month, date] = day.slice(1).map(Number) as [number, number, number]
    const start = new Date(year, month - 1, date)
    // The 31st of a short month would quietly become the 1st of the next.
    if (start.getMonth() !== month - 1 || start.getDate() !== date) return undefined
    return edge === 'start' ? start.getTime() : new Date(year, month - 1, date + 1).getTime() - 1
  }
  if (!/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?$/.test(value))
    return undefined
  const time = Date.parse(value.replace(' ', 'T'))
  return Number.isNaN(time) ? undefined : time
}
