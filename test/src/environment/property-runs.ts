/**
 * Returns how many runs a property has: all of them in `npm run test:long`, an eighth of them in `npm test`.
 * `PROPERTY_RUNS` overrides both.
 */
export function propertyRuns(all: number): number {
  if (process.env.PROPERTY_RUNS) return Number(process.env.PROPERTY_RUNS)
  return process.env.ALL_PROPERTY_RUNS === 'true' ? all : Math.ceil(all / 8)
}
