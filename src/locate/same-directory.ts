// Whether two spellings name one directory. A session keeps the spelling its agent was started under, and a directory has
// as many as there are links on the way to it.

import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'

/** Makes the question whether a stored cwd is the directory of any of these spellings. Each cwd is looked up on disk once. */
export function isDirectoryOf(spellings: readonly string[]): (cwd: string) => boolean {
  const known = new Set(spellings.map(withoutSlash))
  for (const spelling of spellings) if (isAbsolute(spelling)) known.add(realSpelling(spelling))
  const answers = new Map<string, boolean>()
  return (cwd) => {
    let answer = answers.get(cwd)
    if (answer === undefined) {
      answer = known.has(withoutSlash(cwd)) || (isAbsolute(cwd) && known.has(realSpelling(cwd)))
      answers.set(cwd, answer)
    }
    return answer
  }
}

/** The path without links; of one that does not exist, as sessions outlive their directories, the part that does. */
function realSpelling(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // Missing, forbidden or a loop of links: then the directory above it decides.
    const parent = dirname(path)
    return parent === path ? path : join(realSpelling(parent), basename(path))
  }
}

function withoutSlash(cwd: string): string {
  return cwd.length > 1 ? cwd.replace(/[/\\]+$/, '') : cwd
}
