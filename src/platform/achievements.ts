import type { Achievement } from '../core/items.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import { dataOf } from './items.ts'
import { addressAt, isoOfSeconds, type Row, secondsAt, textAt, unreadable, wordAt } from './read.ts'

/** What a person was given by the platform. `base` is its address without a slash at its end. */
export function readAchievements(base: string, value: unknown): Outcome<Achievement[]> {
  const list = dataOf(value, 'TrophyList')
  if (!list) return unreadable('kind')
  const native = list['trophies']
  if (!Array.isArray(native)) return unreadable('data.trophies')
  const achievements: Achievement[] = []
  for (const [index, each] of native.entries()) {
    const row = dataOf(each, 't6')
    const name = row && textAt(row, 'name')
    if (!row || name === null) return unreadable(`data.trophies[${index}].data.name`)
    achievements.push(toAchievement(base, row, name))
  }
  return ok(achievements)
}

function toAchievement(base: string, row: Row, name: string): Achievement {
  const granted = secondsAt(row, 'granted_at')
  const link = wordAt(row, 'url')
  return {
    id: wordAt(row, 'award_id') ?? wordAt(row, 'id'),
    name,
    description: wordAt(row, 'description'),
    icon_url: addressAt(row, 'icon_70') ?? addressAt(row, 'icon_40'),
    url: link?.startsWith('/') ? base + link : link,
    granted: granted === null ? null : isoOfSeconds(granted),
  }
}
