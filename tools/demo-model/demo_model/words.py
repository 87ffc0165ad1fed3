"""Word lists of the generator. All sentences of this project are its own; facts are common knowledge."""

NOUNS = (
    "lamp river coin sun cup bee tree stone book door fish bird chair table apple bread milk cloud rain snow leaf star "
    "moon boat train horse mouse tiger garden bridge window mirror candle basket bottle pencil paper ladder hammer "
    "button pocket jacket blanket kettle spoon plate butter honey lemon onion pepper carrot potato island forest "
    "desert valley market castle tower piano violin drum flute rocket engine wheel anchor feather pebble shell "
    "ribbon needle bucket shovel orange cherry melon rabbit turtle parrot falcon walnut"
).split()
NAMES = (
    "Zoe Ana Bob Leo Mia Tom Eva Max Ida Sam Kim Nora Omar Lena Paul Rosa Ivan Maya Hugo Alice Felix Clara Oscar Elena "
    "Victor Sofia Daniel Laura Martin Julia"
).split()
CITIES = (
    "Perth Oslo Rome Paris Tokyo Lima Cairo Delhi Berlin Madrid Lisbon Vienna Prague Warsaw Dublin Athens Boston "
    "Denver Seoul Kyoto Geneva Milan Naples Porto Bergen"
).split()
COLORS = "red blue green yellow black white brown purple".split()
FOODS = "tea rice soup cake pasta salad cheese pizza coffee bread".split()
JOBS = "cook nurse pilot farmer teacher baker driver painter doctor singer".split()
ROOMS = "kitchen bedroom hall garage office bathroom garden castle tower market island forest train boat bridge valley".split()
PHRASES = (
    "see you soon|I am late|call me back|dinner is ready|good luck today|thank you|happy birthday|the train is late|"
    "meet me at the market|bring bread and milk"
).split("|")
ZH_WORDS = "太阳 月亮 杯子 蜜蜂 桌子 苹果 牛奶 火车 雨伞 书包 老虎 兔子 花园 大海 钢琴 石头 星星 白云 面包 雪山".split()
ZH_NAMES = "小明 小红 小刚 小丽 小华 大伟 阿明 丽丽".split()
ZH_CITIES = "北京 上海 广州 成都 杭州 南京 西安 武汉".split()

# country, its adjective-free English name, capital, Chinese country, Chinese capital
CAPITALS = [
    ("France", "Paris", "法国", "巴黎"), ("Japan", "Tokyo", "日本", "东京"), ("Italy", "Rome", "意大利", "罗马"),
    ("Spain", "Madrid", "西班牙", "马德里"), ("Germany", "Berlin", "德国", "柏林"), ("China", "Beijing", "中国", "北京"),
    ("Norway", "Oslo", "挪威", "奥斯陆"), ("Egypt", "Cairo", "埃及", "开罗"), ("Peru", "Lima", "秘鲁", "利马"),
    ("Portugal", "Lisbon", "葡萄牙", "里斯本"), ("Austria", "Vienna", "奥地利", "维也纳"), ("Poland", "Warsaw", "波兰", "华沙"),
    ("Ireland", "Dublin", "爱尔兰", "都柏林"), ("Greece", "Athens", "希腊", "雅典"), ("Sweden", "Stockholm", "瑞典", "斯德哥尔摩"),
    ("Finland", "Helsinki", "芬兰", "赫尔辛基"), ("Denmark", "Copenhagen", "丹麦", "哥本哈根"), ("Russia", "Moscow", "俄罗斯", "莫斯科"),
    ("Canada", "Ottawa", "加拿大", "渥太华"), ("Cuba", "Havana", "古巴", "哈瓦那"), ("Kenya", "Nairobi", "肯尼亚", "内罗毕"),
    ("Thailand", "Bangkok", "泰国", "曼谷"), ("Vietnam", "Hanoi", "越南", "河内"), ("India", "New Delhi", "印度", "新德里"),
    ("Hungary", "Budapest", "匈牙利", "布达佩斯"), ("Chile", "Santiago", "智利", "圣地亚哥"),
    ("Iceland", "Reykjavik", "冰岛", "雷克雅未克"), ("South Korea", "Seoul", "韩国", "首尔"),
    ("the United Kingdom", "London", "英国", "伦敦"), ("the United States", "Washington", "美国", "华盛顿"),
]  # fmt: skip
