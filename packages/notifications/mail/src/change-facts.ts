import type { ImportChanges } from '@sluice/contract'

/** Returns the counts of what rows change as facts of a mail; none if nothing was counted (changes.md §1, Elsewhere). */
export function changeFacts(changes: ImportChanges | undefined): Record<string, string> {
  if (changes === undefined) return {}
  const { rows, values } = changes
  const facts = {
    'Users with first values': rows.created,
    'Other rows with changes': rows.changed,
    'Values added': values.added,
    'Values changed': values.changed,
    'Values removed': values.removed,
  }
  return Object.fromEntries(Object.entries(facts).map(([name, number]) => [name, number.toLocaleString('en-US')]))
}
