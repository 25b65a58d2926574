import { isChanged } from './conversion/plan.ts'
import { buttonOf, element } from './elements.ts'
import type { KeptMapping, Mapping } from './kept-mapping.ts'

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
  update: (mapping: Mapping) => void
  isOn: () => boolean
} {
  const box = element('input', { type: 'checkbox', checked: '' }) as HTMLInputElement
  const tick = element('label', {}, box, ' Keep this mapping for files with the same columns')
  const update = ({ columns, types }: Mapping) => {
    tick.hidden = !columns.some(isChanged) && types.size === 0
  }
  return { tick, update, isOn: () => box.checked }
}

/** Whether two mappings of the same columns are equal. */
export function isSameMapping(one: Mapping, other: Mapping): boolean {
  return one.columns.every((column, index) => {
    const { key, isLeftOut, form } = other.columns[index] ?? column
    const isSame = column.key === key && column.isLeftOut === isLeftOut && column.form === form
    return isSame && one.types.get(key) === other.types.get(key)
  })
}
