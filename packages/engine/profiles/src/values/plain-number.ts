/** Returns the digits of a number without an exponent, which is the form that is stored. */
export function plainNumber(number: number): string {
  const [mantissa = '', exponent] = String(number).split('e')
  if (exponent === undefined) return mantissa
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(mantissa) ?? []
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}`.padEnd(point, '0')
  const at = Math.max(1, point)
  return `${sign}${digits.slice(0, at)}${at < digits.length ? `.${digits.slice(at)}` : ''}`
}
