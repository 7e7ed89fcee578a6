// Where sessions are: the roots, and paths as a person writes them. Apart from options.ts, so that completion need not load
// zod to know them.

import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { invalidConfig } from '../errors.ts'
import type { CommandContext } from './print.ts'

/** Sessions roots, and what named them. */
export interface Roots {
  readonly from: '--root' | 'DSH_REF_ROOT' | 'DSH_HOME' | 'file' | 'default'
  /** Absolute, without duplicates, at least one; they need not exist. */
  readonly paths: readonly string[]
}

/**
 * Finds the sessions roots: `--root`, else `$DSH_REF_ROOT`, else `$DSH_HOME/sessions`, else those of the configuration file,
 * else `~/.dsh/sessions`.
 */
export function resolveRoots(context: Pick<CommandContext, 'globals' | 'env' | 'cwd' | 'home'>): Roots {
  const { env, globals } = context
  // The home and the current directory are looked up only where needed: either may be missing.
  const absolute = (path: string) => absolutePath(path, context)
  if (globals.root.length > 0) {
    const empty = globals.root.find((path) => !hasText(path))
    if (empty !== undefined) {
      throw invalidConfig(`Option --root is ${JSON.stringify(empty)}; give the path of a directory`, {
        option: '--root',
        value: empty,
        allowed: 'the path of a directory',
      })
    }
    return { from: '--root', paths: [...new Set(globals.root.map(absolute))] }
  }
  const listed = (env.DSH_REF_ROOT ?? '').split(delimiter).filter(hasText)
  if (listed.length > 0) return { from: 'DSH_REF_ROOT', paths: [...new Set(listed.map(absolute))] }
  if (hasText(env.DSH_HOME)) return { from: 'DSH_HOME', paths: [join(absolute(env.DSH_HOME), 'sessions')] }
  if (globals.configuredRoots) return { from: 'file', paths: [...new Set(globals.configuredRoots)] }
  return { from: 'default', paths: [join(context.home, '.dsh', 'sessions')] }
}

/** Makes a path absolute; a leading `~` or `~/` is the home directory, since no shell expands one in `--root=~/x`. */
export function absolutePath(path: string, context: Pick<CommandContext, 'cwd' | 'home'>): string {
  if (path === '~') return context.home
  if (path.startsWith('~/')) return join(context.home, path.slice(2))
  return isAbsolute(path) ? resolve(path) : resolve(context.cwd, path)
}

function hasText(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== ''
}
