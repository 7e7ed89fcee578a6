// Text as it is compared when a person searches: the same whatever the case, and whichever way Unicode spells a letter with
// its marks. What is printed stays as it was stored.

const ASCII = /^[\u0000-\u007f]*$/

/**
 * Folds a text for comparison: two texts that differ only in case or in Unicode normalisation (NFC, NFD) fold to the same.
 * Case is what the reference service takes for it, the small letters of Unicode whatever the locale: `ß` is not `ss`, and the
 * Turkish `İ` not `i`.
 */
export function foldedText(text: string): string {
  // Composed again: a small letter may compose with marks that its capital does not.
  return ASCII.test(text) ? text.toLowerCase() : text.normalize('NFC').toLowerCase().normalize('NFC')
}

/** Makes the question whether a text holds this one, in folded form. */
export function holdsText(wanted: string): (text: string | undefined) => boolean {
  const folded = foldedText(wanted)
  return (text) => text !== undefined && foldedText(text).includes(folded)
}

/** A letter with what composes with it: marks, and the vowels and final consonants of a Hangul syllable. */
const LETTER = /.[\p{M}\u1160-\u11ff]*/gsu

/** A pattern that speaks of marks by themselves: by property, by escape, in a class, or where no letter is before them. */
const OF_MARKS =
  /\\p\{(?:(?:gc|General_Category)=)?(?:M|Mn|Mc|Me|\w*Mark)\}|\\u(?:03[0-6][\da-f]|\{0*3[0-6][\da-f]\})|\[[^\]]*\p{M}|(?:^|[[\](){}|.^$*+?])\p{M}/iu

/** A text in composed form (NFC), and where its offsets are in the text it was made of. */
export interface ComposedText {
  readonly text: string
  originalOffset(offset: number): number
}

/**
 * A regular expression for composed text. `undefined` for one that speaks of combining marks by themselves: composing would
 * take from it what it looks for.
 */
export function composedPattern(pattern: RegExp): RegExp | undefined {
  const source = pattern.source.normalize('NFC')
  return OF_MARKS.test(source) ? undefined : new RegExp(source, pattern.flags)
}

/** Composes a text letter by letter, so that whatever is found in it can be shown in the text as it was stored. */
export function composedText(text: string): ComposedText {
  if (ASCII.test(text) || text.normalize('NFC') === text) return { text, originalOffset: (offset) => offset }
  // Where lengths part: the offset behind a letter in the composed text, and in the original.
  const turns: { readonly composed: number; readonly original: number }[] = []
  let shortenedBy = 0
  const composed = text.replace(LETTER, (letter, at: number) => {
    const whole = letter.normalize('NFC')
    if (whole.length !== letter.length) {
      shortenedBy += letter.length - whole.length
      const original = at + letter.length
      turns.push({ composed: original - shortenedBy, original })
    }
    return whole
  })
  return {
    text: composed,
    originalOffset(offset) {
      let low = 0
      for (let high = turns.length; low < high; ) {
        const middle = (low + high) >>> 1
        if ((turns[middle]?.composed ?? offset) <= offset) low = middle + 1
        else high = middle
      }
      const turn = turns[low - 1]
      return turn ? turn.original + (offset - turn.composed) : offset
    },
  }
}
