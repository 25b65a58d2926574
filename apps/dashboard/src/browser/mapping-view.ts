import { type ColumnPlan, isChanged } from './conversion/plan.ts'
import { buttonOf, element } from './elements.ts'
import type { KeptMapping } from './kept-mapping.ts'

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** Creates the offer to use a kept mapping, or to forget it. */
export function mappingOffer({ keptAt }: KeptMapping, onUse: () => void, onForget: () => void): HTMLElement {
  return element(
    'div',
    { class: 'notice', role: 'status' },
    element('p', {}, `On ${format.format(keptAt)}, a mapping was kept for files with these columns.`),
    element('p', { class: 'actions' }, buttonOf('Use the mapping', onUse), buttonOf('Forget it', onForget)),
  )
}

/** Creates the check box that keeps the mapping of a file. It is shown if there is something to keep. */
export function keepTick(): {
  tick: HTMLElement
  update: (columns: readonly ColumnPlan[]) => void
  isOn: () => boolean
} {
  const box = element('input', { type: 'checkbox', checked: '' }) as HTMLInputElement
  const tick = element('label', {}, box, ' Keep this mapping for files with the same columns')
  const update = (columns: readonly ColumnPlan[]) => {
    tick.hidden = !columns.some(isChanged)
  }
  return { tick, update, isOn: () => box.checked }
}

/** Whether two mappings of the same columns are equal. */
export function isSameMapping(one: readonly ColumnPlan[], other: readonly ColumnPlan[]): boolean {
  return one.every((column, index) => {
    const { key, isLeftOut, form } = other[index] ?? column
    return column.key === key && column.isLeftOut === isLeftOut && column.form === form
  })
}
