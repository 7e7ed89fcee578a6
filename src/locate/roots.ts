// The sessions roots: whether they can be read, and the session directories below them.

import { type Dirent, readdirSync, realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { type DshRefError, invalidReference, readFailed, unreadable } from '../errors.ts'
import type { Issue } from '../types.ts'
import { exists, isDirectory } from './exists.ts'

/** Throws when not one of the roots can be read: missing and unreadable are two different answers (DESIGN.md section 4). */
export function requireRoots(roots: readonly string[]): void {
  let refusal: DshRefError | undefined
  for (const root of roots) {
    try {
      readdirSync(root)
      return
    } catch (cause) {
      refusal ??= unreadable(root, cause)
    }
  }
  const [root] = roots
  if (!refusal) throw invalidReference('No sessions root is given; use --root')
  if (refusal.reason === 'not-found') {
    throw readFailed(
      'not-found',
      `The sessions root ${root} does not exist; name another with --root or $DSH_REF_ROOT`,
      {
        ...refusal.facts,
      },
    )
  }
  throw readFailed('unreadable', `The sessions root ${refusal.message}`, { ...refusal.facts })
}

/** The session directories below the roots, in name order; a root given twice counts once, one that is missing is an issue. */
export function* sessionDirectories(roots: readonly string[], issues: Issue[]): Generator<string> {
  for (const project of projectDirectories(roots, issues)) yield* directoriesIn(project, issues)
}

/** The project directories below the roots, likewise. */
export function* projectDirectories(roots: readonly string[], issues: Issue[]): Generator<string> {
  const seen = new Set<string>()
  for (const root of roots) {
    const real = realRoot(root, issues)
    if (real === undefined || seen.has(real)) continue
    seen.add(real)
    yield* directoriesIn(root, issues)
  }
}

/** The real path of a root; `undefined`, and an issue, when there is none. */
export function realRoot(root: string, issues: Issue[] = []): string | undefined {
  try {
    return realpathSync(root)
  } catch (cause) {
    const { reason, message } = unreadable(root, cause)
    const isMissing = reason === 'not-found'
    issues.push({
      kind: isMissing ? 'missing-root' : 'unreadable-entry',
      message: isMissing ? 'The sessions root does not exist' : message,
      file: root,
    })
    return undefined
  }
}

/** Directories and links to directories, by name; everything else is an issue of its kind or no business of ours. */
function directoriesIn(directory: string, issues: Issue[]): string[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(directory, { withFileTypes: true })
  } catch (cause) {
    issues.push({ kind: 'unreadable-entry', message: unreadable(directory, cause).message, file: directory })
    return []
  }
  const found: string[] = []
  // Not join() for each: with thousands of them it takes as long as reading the directory.
  const prefix = join(directory, sep)
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = prefix + entry.name
    if (entry.isDirectory()) found.push(path)
    else if (entry.isSymbolicLink()) {
      if (isDirectory(path)) found.push(path)
      else if (!exists(path)) issues.push({ kind: 'dangling-link', message: 'A link leads nowhere', file: path })
      else issues.push({ kind: 'stray-file', message: 'A file lies where a directory is due', file: path })
    } else if (/\.jsonl(?:\.zstd)?$/.test(entry.name)) {
      issues.push({
        kind: 'legacy-flat-file',
        message: 'A log of the retired flat layout, which DSH refuses',
        file: path,
      })
    } else issues.push({ kind: 'stray-file', message: 'A file lies where a directory is due', file: path })
  }
  return found
}
