// Finds all secrets of one text, whole texts only: a piece of one may hold half a secret. What is found by what: tokens.ts,
// recommended.ts, named-secrets.ts and private-keys.ts. Masking is in redact.ts.

import { type Find, SECRET_KINDS } from './kinds.ts'
import { findNamedSecrets } from './named-secrets.ts'
import { placeholderRanges, type Range } from './placeholder.ts'
import { findPrivateKeys } from './private-keys.ts'
import { findRecommended } from './recommended.ts'
import { findTokens } from './tokens.ts'

/**
 * All secrets of a text: in their order, none overlapping another one. Best effort, by known shapes and names only
 * (docs/secrets.md); a scanner that fails throws, and never returns less.
 */
export function findSecrets(text: string): Find[] {
  const finds = [...findTokens(text), ...findRecommended(text), ...findNamedSecrets(text), ...findPrivateKeys(text)]
  return merged(outside(placeholderRanges(text), finds))
}

/** Finds that overlap become one, of the kind that comes first in the list of kinds. */
function merged(finds: readonly Find[]): Find[] {
  const result: Find[] = []
  for (const find of [...finds].sort((one, other) => one.start - other.start || other.end - one.end)) {
    const last = result.at(-1)
    if (last === undefined || find.start >= last.end) result.push(find)
    else result[result.length - 1] = { kind: firstOf(last, find), start: last.start, end: Math.max(last.end, find.end) }
  }
  return result
}

/** Finds without the placeholders that they begin or end in: these were written by a mask, and are no part of a secret. */
function outside(placeholders: readonly Range[], finds: readonly Find[]): readonly Find[] {
  if (placeholders.length === 0) return finds
  return finds.flatMap(({ kind, start, end }) => {
    const find = {
      kind,
      start: rangeAround(placeholders, start)?.end ?? start,
      end: rangeAround(placeholders, end - 1)?.start ?? end,
    }
    return find.start < find.end ? [find] : []
  })
}

/** The range that holds this place, of ranges in their order. */
function rangeAround(ranges: readonly Range[], at: number): Range | undefined {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >> 1
    const range = ranges[middle]
    if (range !== undefined && range.end <= at) low = middle + 1
    else high = middle
  }
  const range = ranges[low]
  return range !== undefined && range.start <= at ? range : undefined
}

function firstOf(one: Find, other: Find): Find['kind'] {
  return SECRET_KINDS.indexOf(one.kind) <= SECRET_KINDS.indexOf(other.kind) ? one.kind : other.kind
}
