import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deletionDates, localDay } from './dates.ts'

// service.md, States and transitions; design.md §3, Deletion dates.
describe('deletion dates', () => {
  // zone, accepted, starts, completes
  test.each([
    ['UTC', '2026-03-01T10:00:00.000Z', '2026-03-07T10:00:00.000Z', '2026-04-07T00:00:00.000Z'],
    // Month ends: the month of the start counts, not the month of the acceptance.
    ['UTC', '2026-04-24T23:59:59.999Z', '2026-04-30T23:59:59.999Z', '2026-05-07T00:00:00.000Z'],
    ['UTC', '2026-04-25T00:00:00.000Z', '2026-05-01T00:00:00.000Z', '2026-06-07T00:00:00.000Z'],
    ['UTC', '2026-01-31T12:00:00.000Z', '2026-02-06T12:00:00.000Z', '2026-03-07T00:00:00.000Z'],
    // February, with and without a leap day; 2100 has none.
    ['UTC', '2028-02-23T12:00:00.000Z', '2028-02-29T12:00:00.000Z', '2028-03-07T00:00:00.000Z'],
    ['UTC', '2026-02-23T12:00:00.000Z', '2026-03-01T12:00:00.000Z', '2026-04-07T00:00:00.000Z'],
    ['UTC', '2100-02-22T12:00:00.000Z', '2100-02-28T12:00:00.000Z', '2100-03-07T00:00:00.000Z'],
    ['UTC', '2100-02-23T12:00:00.000Z', '2100-03-01T12:00:00.000Z', '2100-04-07T00:00:00.000Z'],
    // Year ends.
    ['UTC', '2026-11-25T00:00:00.000Z', '2026-12-01T00:00:00.000Z', '2027-01-07T00:00:00.000Z'],
    ['UTC', '2026-12-25T23:59:59.999Z', '2026-12-31T23:59:59.999Z', '2027-01-07T00:00:00.000Z'],
    ['UTC', '2026-12-26T00:00:00.000Z', '2027-01-01T00:00:00.000Z', '2027-02-07T00:00:00.000Z'],
    // The zone's month counts: the start is in May there but still in April in UTC, and the reverse.
    ['Asia/Tokyo', '2026-04-24T15:00:00.000Z', '2026-04-30T15:00:00.000Z', '2026-06-06T15:00:00.000Z'],
    ['Asia/Tokyo', '2026-04-24T14:59:59.999Z', '2026-04-30T14:59:59.999Z', '2026-05-06T15:00:00.000Z'],
    ['America/New_York', '2026-04-25T03:59:59.999Z', '2026-05-01T03:59:59.999Z', '2026-05-07T04:00:00.000Z'],
    ['Asia/Kolkata', '2026-04-24T18:30:00.000Z', '2026-04-30T18:30:00.000Z', '2026-06-06T18:30:00.000Z'],
    // Daylight saving time: across a change, 6 × 24 hours are six days plus or minus an hour by the clock.
    ['Europe/Berlin', '2026-03-25T22:30:00.000Z', '2026-03-31T22:30:00.000Z', '2026-05-06T22:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25T22:30:00.000Z', '2026-10-31T22:30:00.000Z', '2026-11-06T23:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25T23:00:00.000Z', '2026-10-31T23:00:00.000Z', '2026-12-06T23:00:00.000Z'],
    ['America/New_York', '2027-02-01T12:00:00.000Z', '2027-02-07T12:00:00.000Z', '2027-03-07T05:00:00.000Z'],
    ['America/New_York', '2026-10-02T12:00:00.000Z', '2026-10-08T12:00:00.000Z', '2026-11-07T05:00:00.000Z'],
    // Clocks are set forward at midnight of the 7th (Santiago, 2025-09-07): the day begins at 01:00.
    ['America/Santiago', '2025-08-10T12:00:00.000Z', '2025-08-16T12:00:00.000Z', '2025-09-07T04:00:00.000Z'],
    // Clocks are set back from midnight to 23:00 of the 6th (Santiago, 2024-04-07): the 7th begins after the second
    // 23:00.
    ['America/Santiago', '2024-03-10T12:00:00.000Z', '2024-03-16T12:00:00.000Z', '2024-04-07T04:00:00.000Z'],
    // Clocks are set back from 01:00 to midnight of the 7th (Havana, 2021-11-07): the first of two midnights counts.
    ['America/Havana', '2021-10-10T12:00:00.000Z', '2021-10-16T12:00:00.000Z', '2021-11-07T04:00:00.000Z'],
    ['Pacific/Kiritimati', '2026-03-01T10:00:00.000Z', '2026-03-07T10:00:00.000Z', '2026-04-06T10:00:00.000Z'],
  ])('%s: accepted %s starts %s and completes %s', (zone, acceptedAt, startsAt, completesAt) => {
    const dates = deletionDates(new Date(acceptedAt), zone)
    expect({ starts: dates.startsAt.toISOString(), completes: dates.completesAt.toISOString() }).toEqual({
      starts: startsAt,
      completes: completesAt,
    })
  })

  test('in every zone, completion is the first instant of a 7th, 6 to 37 days after the start, and never out of order', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Santiago', 'Asia/Tokyo', 'Australia/Lord_Howe')
    const instant = fc.date({ min: new Date('2000-01-01'), max: new Date('2037-01-01'), noInvalidDate: true })
    fc.assert(
      fc.property(zones, instant, instant, (zone, one, other) => {
        const { startsAt, completesAt } = deletionDates(one, zone)
        expect(startsAt.getTime() - one.getTime()).toBe(518_400_000)
        expect(localDay(completesAt, zone)).toMatch(/-07$/)
        expect(localDay(new Date(completesAt.getTime() - 1), zone)).toMatch(/-06$/)
        const days = (completesAt.getTime() - startsAt.getTime()) / 86_400_000
        expect(days).toBeGreaterThan(5.9)
        expect(days).toBeLessThan(37.1)
        const later = deletionDates(other, zone).completesAt.getTime()
        if (other >= one) expect(later).toBeGreaterThanOrEqual(completesAt.getTime())
      }),
    )
  })
})
