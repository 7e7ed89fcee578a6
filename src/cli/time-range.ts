// Ranges of time as two options say them. How one moment is written is filters.ts.

import { invalidConfig } from '../errors.ts'

/** One end of a range: the option, what was given for it, and the moment that is. */
export interface RangeEnd {
  readonly option: string
  readonly given: unknown
  readonly time: number | undefined
}

/** Refuses a range that ends before it begins: nothing could ever lie in it. */
export function refuseInverted(from: RangeEnd, to: RangeEnd): void {
  if (from.time === undefined || to.time === undefined || from.time <= to.time) return
  throw invalidConfig(
    `Option ${from.option} is ${JSON.stringify(from.given)}, which is after ${to.option} ${JSON.stringify(to.given)}; nothing lies between them`,
    { option: from.option, value: from.given, other: to.option, otherValue: to.given },
  )
}
