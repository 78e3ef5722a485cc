import * as z from 'zod'

import { iso } from '../../core/base/time.ts'
import { ALARM_KINDS, type OpenAlarm } from '../../store/monitoring/alarms.ts'

export const toAlarm = ({
  kind,
  opened_at,
  repeats,
  next_repeat_at,
  acknowledged_at,
}: OpenAlarm) => ({
  kind,
  since: iso(opened_at),
  repeats,
  next_repeat_at: iso(next_repeat_at),
  acknowledged_at: iso(acknowledged_at),
})

export const alarmsShape = () =>
  z
    .array(
      z
        .object({
          kind: z
            .enum(ALARM_KINDS)
            .describe('silent: no match for silent_after_h. degraded: coverage_24h is degraded.'),
          since: z.string().meta({ format: 'date-time' }),
          repeats: z.int(),
          next_repeat_at: z
            .string()
            .nullable()
            .meta({ format: 'date-time', description: 'Null: it is not repeated any more.' }),
          acknowledged_at: z.string().nullable().meta({ format: 'date-time' }),
        })
        .meta({ title: 'Alarm' }),
    )
    .describe('Alarms that are not over.')
