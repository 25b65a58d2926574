import type { Page } from 'playwright-core'

export const users = Array.from({ length: 50 }, (_, index) => `user-${index}`)

/** A CSV file with a row for each user. The `age` of one row is not a number. */
export const people = [
  'user_id,age,joined,note',
  ...users.map(
    (user, index) =>
      `${user},${index === 7 ? 'unknown' : 20 + index},2026-03-0${1 + (index % 9)},"Hello, ""${index}"""`,
  ),
  '',
].join('\n')

export async function drop(page: Page, name: string, content: Buffer): Promise<void> {
  const code = `(() => {
    const bytes = Uint8Array.from(atob('${content.toString('base64')}'), (character) => character.charCodeAt(0))
    const transfer = new DataTransfer()
    transfer.items.add(new File([bytes], ${JSON.stringify(name)}))
    return transfer
  })()`
  const dataTransfer = await page.evaluateHandle(code)
  for (const event of ['dragenter', 'dragover', 'drop'])
    await page.dispatchEvent('[data-drop]', event, { dataTransfer })
}
