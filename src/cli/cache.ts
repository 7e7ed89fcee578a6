// The title index as commands open it: its place by the environment, the logs it must keep away from, and that no signal
// ends the writing of it.

import { cacheDirectory, openTitleIndex, type TitleIndex } from '../list/title-index.ts'
import type { CommandContext } from './print.ts'
import { pathsNamed } from './sessions.ts'
import { hearSignals } from './signals.ts'

/** Opens the title index; refuses a place of it where nothing may be written. `target` is the argument. */
export function titleIndexOf(
  target: string | undefined,
  context: Pick<CommandContext, 'cwd' | 'env' | 'home'>,
  roots: readonly string[],
): TitleIndex {
  const directory = cacheDirectory(context.env, context.home)
  return openTitleIndex(directory, roots, Date.now(), pathsNamed([], target, context), hearSignals)
}
