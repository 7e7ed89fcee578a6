// Where a log is due by its header (FORMAT.md section 1.2), and whether it lies there.

import { basename, dirname, join, sep } from 'node:path'
import type { Issue } from '../types.ts'
import type { LocatedLog } from './located-log.ts'
import { projectSegment, sessionSegment } from './paths.ts'
import { realRoot } from './roots.ts'

/** Whether the directories of a log are the ones its header leads to (FORMAT.md section 1.2). */
export function pathIssue({ path, header }: Pick<LocatedLog, 'path' | 'header'>): Issue | undefined {
  const directory = dirname(path)
  const project = projectOf(header.cwd)
  const session = header.id === '' ? '' : sessionSegment(header.id)
  if (session !== '' && directory.endsWith(sep + project + sep + session)) return undefined
  const expected = join(project, session)
  const actual = join(basename(dirname(directory)), basename(directory))
  if (actual === expected) return undefined
  return {
    kind: 'path-mismatch',
    message: `The log lies in ${actual}, its header leads to ${expected}; DSH refuses it there`,
    file: path,
  }
}

/** The project of the session before is mostly that of the next: of 5,000 it saves 10 ms. */
let lastProject: { readonly cwd: string | undefined; readonly segment: string } | undefined

function projectOf(cwd: string | undefined): string {
  if (!lastProject || lastProject.cwd !== cwd) lastProject = { cwd, segment: projectSegment(cwd) }
  return lastProject.segment
}

/** Whether a log lies in the layout of a root, and so has a place it must be in; a copy on somebody's desk has none. */
export function hasDuePlace(path: string, roots: readonly string[]): boolean {
  const project = dirname(dirname(path))
  return /^(?:--.*--|_no-cwd)$/.test(basename(project)) || isBelowOneOf(roots, path)
}

/** Whether a log lies three levels below one of these roots, as a session does. */
export function isBelowOneOf(roots: readonly string[], path: string): boolean {
  const root = realRoot(dirname(dirname(dirname(path))))
  return root !== undefined && roots.some((known) => realRoot(known) === root)
}
