select count(*) from rows."Loop 1"
select min(channel), max(channel), min(amps), max(amps) from rows."Loop 1"
select min(t), max(t) from rows."Loop 1"
select count(*), count(volts), count(note), count(good) from rows."Loop 1"
select count(*) from rows."Loop 1" where volts > 100
select count(*) from rows."Loop 1" where volts < -5.5
select count(*) from rows."Loop 1" where volts <= -6
select count(*) from rows."Loop 1" where volts >= 17.5
select count(*) from rows."Loop 1" where volts <> 0
select count(*) from rows."Loop 1" where volts is null
select count(*) from rows."Loop 1" where isnan(volts)
select count(*), sum(volts) from rows."Loop 1" where volts between -1 and 1
select count(*) from rows."Loop 1" where channel = 3 and good
select count(*) from rows."Loop 1" where channel in (1, 5, 9)
select count(*) from rows."Loop 1" where note = 'Ä'
select count(*) from rows."Loop 1" where note = ''
select count(*) from rows."Loop 1" where note like 'w%'
select count(*) from rows."Loop 1" where not good
select t, volts from rows."Loop 1" where t >= timestamp '2024-03-01 00:10:00' and t < timestamp '2024-03-01 00:10:03' order by t
select count(*) from rows."Loop 1" where t > timestamp '2024-03-01 01:23:00'
select channel, count(*), avg(cast(amps as double)) from rows."Loop 1" group by channel order by channel
select channel, max(volts) from rows."Loop 1" group by channel order by channel
select note, count(*) from rows."Loop 1" group by note order by note nulls last
select count(distinct note), count(distinct volts), count(distinct channel) from rows."Loop 1"
select distinct good from rows."Loop 1" order by good nulls first
select date_trunc('minute', t) as m, count(*), min(amps) from rows."Loop 1" group by m order by m limit 5
select date_trunc('hour', t) as h, sum(channel) from rows."Loop 1" group by h order by h
select median(amps), median(channel) from rows."Loop 1"
select channel, n, rank from (select channel, n, row_number() over (partition by channel order by n) as rank from rows."Loop 2") as s where rank <= 2 order by channel, rank
select n, value, value - lag(value) over (order by n, channel) as step from rows."Loop 2" order by n, channel limit 6
select n, sum(value) over (order by n, channel rows between 2 preceding and current row) as s from rows."Loop 2" order by n, channel limit 6
select a.channel, count(*) from rows."Loop 1" a join rows."Loop 2" b on a.channel = b.channel group by a.channel order by a.channel
select family, count(*) from products group by family order by family
select count(*) from products where name is null
select part_number from products where family = 'F1' and workspace = 'open' order by part_number
select state, count(*) from work_items group by state order by state
select p.family, w.state, count(*) from products p join work_items w on p.part_number = w.part_number group by p.family, w.state order by 1, 2
select w.name from work_items w left join products p on p.part_number = w.part_number where p.part_number is null order by w.name
select name from work_items where state = 'NO_SUCH_STATE'
select s.spec_id, count(*) from specifications s, rows."Loop 2" r where r.value > 2 group by s.spec_id order by s.spec_id
select count(*), sum(value) from rows.empty
select count(*) from work_items w where w.part_number in (select part_number from products where family = 'F2')
select channel, min(volts), max(volts) from rows."Loop 1" where isnan(volts) or channel = 6 group by channel order by channel
select channel, max(volts) as m from rows."Loop 1" group by channel order by m desc nulls last, channel limit 5
select t, max(volts) over (order by t rows between 1 preceding and current row) as m from rows."Loop 1" order by t limit 4
select count(*) from rows."Loop 3"
select count(v), count(fine), count(rate), count(extra), min(extra), max(extra) from rows."Loop 3"
select min(moment), max(moment), min(rate), max(rate) from rows."Loop 3"
select moment, v, rate, extra from rows."Loop 3" order by moment limit 5
select count(*) from rows."Loop 3" where moment >= timestamp '2024-03-01 00:00:00.001500' and moment < timestamp '2024-03-01 00:00:00.003250'
select cast(fine as bigint) from rows."Loop 3" where fine is not null order by moment limit 4
select sum(cast(fine as bigint) % 1000) from rows."Loop 3"
select count(*) from rows."Loop 3" where moment between timestamp '2024-03-01 00:00:00.090000' and timestamp '2024-03-01 00:00:00.110000'
select date_trunc('second', moment) as s, count(*), sum(rate), max(extra) from rows."Loop 3" group by s order by s
select count(*) from rows."Loop 3" where v = 3
select count(*) from rows."Loop 3" where rate = 2.5 and extra = 6
select count(*), sum(v) from rows."Loop 3" where v < 12 and rate > 1
select extra, count(*), avg(cast(rate as double)) from rows."Loop 3" group by extra order by extra nulls last
select count(*) from rows."Loop 3" where extra is null
select count(*) from rows."Loop 3" where isnan(v)
select moment, rate from rows."Loop 3" order by rate desc, moment limit 6
select moment, v from rows."Loop 3" order by v desc nulls last, moment limit 4
select moment, extra from rows."Loop 3" where rate < 2 order by extra desc nulls last, moment desc limit 5
select a.extra, count(*) from rows."Loop 3" a join rows."Loop 2" b on a.extra = b.channel group by a.extra order by a.extra
select part_number from products where family in ('F0', 'F2') and (workspace = 'open' or name is null) order by part_number
select name from work_items where state = 'NEW' or part_number = 'P-03' or part_number = 'P-04' order by name
select name from work_items where state = 'NO_SUCH_STATE' or part_number = 'P-03' order by name
select count(*) from rows."Loop 1" where channel = 3 or channel = 5 or note = 'warm'
select name from work_items where timeline['due_date_time'] < timestamp '2024-05-04 00:00:00' order by name
select state, count(timeline['due_date_time']) from work_items group by state order by state
select extract(month from timeline['due_date_time']) as m, count(*) from work_items group by 1 order by 1 nulls last
select properties['line'] as line, count(*) from products group by 1 order by 1
select count(*) from work_items where properties['slot'] = '7'
select count(*) from products where array_has(keywords, 'k1')
select percentile_cont(0.9) within group (order by cast(amps as double)) from rows."Loop 1"
select channel, percentile_cont(0.25) within group (order by value) from rows."Loop 2" group by channel order by channel
select date_bin(interval '10 minutes', t) as bucket, count(*), sum(channel) from rows."Loop 1" group by 1 order by 1
select count(*) from rows."Loop 1" where (channel = 1 and note = 'ok') or volts = 3.25 or t < timestamp '2024-03-01 00:00:05'
select count(*) from rows."Loop 3" where moment < timestamp '2024-03-01 00:00:00.060500' or v in (1, 2)
