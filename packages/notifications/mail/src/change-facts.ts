import type { ImportChanges } from '@sluice/contract'

/**
 * Returns the counts of what rows change as facts of a mail, without zeros (changes.md §1, Elsewhere). None if nothing
 * was counted.
 */
export function changeFacts(changes: ImportChanges | undefined): Record<string, string> {
  if (changes === undefined) return {}
  const { rows, values } = changes
  const facts = {
    'Users with first values': rows.created,
    [rows.created > 0 ? 'Other rows with changes' : 'Rows with changes']: rows.changed,
    'Values added': values.added,
    'Values changed': values.changed,
    'Values removed': values.removed,
  }
  const shown = Object.entries(facts).filter(([, number]) => number > 0)
  return Object.fromEntries(shown.map(([name, number]) => [name, number.toLocaleString('en-US')]))
}
