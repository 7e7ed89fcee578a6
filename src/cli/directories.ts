// How a directory that a person names may be spelled in the headers of sessions. That links lead to the same directory is
// same-directory.ts.

import { type BigIntStats, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { CommandContext } from './print.ts'
import { absolutePath } from './roots.ts'

type Place = Pick<CommandContext, 'cwd' | 'home' | 'env'>

/** The spellings of a directory: as it was given, absolute, and as the shell would say it (`$PWD`), which keeps links. */
export function spellingsOf(directory: string, context: Place): string[] {
  const absolute = absolutePath(directory, context)
  const spellings = [directory, absolute]
  const { PWD } = context.env
  if (PWD !== undefined && isAbsolute(PWD) && isSame(PWD, context.cwd)) {
    const byShell = absolutePath(directory, { cwd: PWD, home: context.home })
    // Above a link ".." is two places: that of the shell and that of the system, which is the one meant.
    if (isSame(byShell, absolute)) spellings.push(byShell)
  }
  return [...new Set(spellings)]
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [stateOf(one), stateOf(other)]
  return first !== undefined && second !== undefined && first.dev === second.dev && first.ino === second.ino
}

function stateOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true })
  } catch {
    return undefined // what cannot be looked at is the same as nothing
  }
}
